! Fortran through flang: column-major arrays of assumed size and shape, counters
! of which the compiler does not say that they do not wrap.
! REQUIRES: flang
! RUN: rm -f %t.report
! RUN: env NPUTEIR_REPORT=%t.report %flang -O2 -c %s -o %t.o
! RUN: FileCheck %s < %t.report
! RUN: %plain -x c %S/fortran_main.inc -x none %t.o -o %t.exe
! RUN: %t.exe

! CHECK-DAG: "einsum":"mk,kn->mn"{{.*}}"function":"gemm_"
subroutine gemm(m, n, k, a, b, c)
  integer, intent(in) :: m, n, k
  integer(1), intent(in) :: a(m, k), b(k, n)
  integer(4), intent(inout) :: c(m, n)
  integer :: i, j, l
  do j = 1, n
    do i = 1, m
      do l = 1, k
        c(i, j) = c(i, j) + int(a(i, l), 4) * int(b(l, j), 4)
      end do
    end do
  end do
end subroutine

! CHECK-DAG: "einsum":"{{[mnk,]+}}->{{[mn]+}}"{{.*}}"function":"fixed_"
subroutine fixed(a, b, c)
  integer(1), intent(in) :: a(24, 40), b(40, 32)
  integer(4), intent(out) :: c(24, 32)
  integer :: i, j, l
  c = 0
  do l = 1, 40
    do j = 1, 32
      do i = 1, 24
        c(i, j) = c(i, j) + int(a(i, l), 4) * int(b(l, j), 4)
      end do
    end do
  end do
end subroutine

! A near miss: the product is formed in 8 bits.
! CHECK-DAG: "function":"narrow_"{{.*}}"taken":false
subroutine narrow(m, n, k, a, b, c)
  integer, intent(in) :: m, n, k
  integer(1), intent(in) :: a(m, k), b(k, n)
  integer(4), intent(inout) :: c(m, n)
  integer :: i, j, l
  do j = 1, n
    do i = 1, m
      do l = 1, k
        c(i, j) = c(i, j) + a(i, l) * b(l, j)
      end do
    end do
  end do
end subroutine
