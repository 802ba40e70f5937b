! matrix.f90 -- a product in loops, column by column as Fortran stores it.
! Compile with NPUTEIR_OPTIONS=f32=bf16x3: the NPU splits each real into bf16.
subroutine multiply(a, b, c, n)
  implicit none
  integer, intent(in) :: n
  real, intent(in) :: a(n, n), b(n, n)
  real, intent(inout) :: c(n, n)
  integer :: i, j, k
  do j = 1, n
    do k = 1, n
      do i = 1, n
        c(i, j) = c(i, j) + a(i, k) * b(k, j)
      end do
    end do
  end do
end subroutine

program matrix
  implicit none
  integer, parameter :: n = 96
  real :: a(n, n), b(n, n), c(n, n)
  integer :: i, j
  do j = 1, n
    do i = 1, n
      a(i, j) = mod(i * 3 + j, 7)
      b(i, j) = mod(i + j * 5, 11)
    end do
  end do
  c = 0
  call multiply(a, b, c, n)
  print '(a, f10.1)', 'sum ', sum(c) / n
end program
