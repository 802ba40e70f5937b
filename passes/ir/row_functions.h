// row_functions.h -- functions of the program that copy rows which are found
// one by one to where they lie evenly.
#ifndef NPUTEIR_ROW_FUNCTIONS_H
#define NPUTEIR_ROW_FUNCTIONS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/IRBuilder.h"

namespace nputeir {

// What they know of the rows of one array of addresses: numbers of 64 bits, in
// the frame.  A tensor that is no such array has one row, whose address is
// where that of the copies would be.
enum RowField {
  ROW_ARRAY,   // where the addresses are ..
  ROW_STRIDE,  // .. and how far apart, in bytes
  ROW_COUNT,   // of the rows
  ROW_FIRST,   // byte of a row that is used, from its address
  ROW_BYTES,   // that are used, of each row
  ROW_MOST,    // of these for which the rows may be copied
  ROW_WRITTEN, // then no row shares a byte with another one
  ROW_COPIES,  // of the first byte of the first row ..
  ROW_STEP,    // .. to the next row's
  ROW_AROUND,  // arrays around, whose elements are addresses of arrays
  ROW_FIELDS
};
// Of each of these, from the outermost one on.
enum RowAround {
  ROW_STRIDE_AROUND, // from address to address, in bytes
  ROW_SIZE,          // rows that an address leads to
  ROW_OFFSET,        // from it to the first address there, in bytes
  ROW_AROUND_FIELDS
};
enum { ROW_WORDS = ROW_FIELDS + 2 * ROW_AROUND_FIELDS }; // of all
enum { RowAlignment = 64 }; // of rows of copies, from the first one

enum class RowFunction {
  // (rows, how many are to be copied, how many there are, most bytes): copies
  // those that come first; gives the memory, or null where that cannot be done.
  Copy,
  Refill,  // (rows): the copies
  PutBack, // (rows): from the copies
  Range    // (array, stride, count): the smallest and the largest address
};
constexpr const char *RowFunctionPrefix = "nputeir.rows.";

llvm::Value *callRows(llvm::IRBuilder<> &B, RowFunction Which,
                      llvm::ArrayRef<llvm::Value *> Arguments);
// The code of one that was called, which has none yet.
void writeRowFunction(llvm::Function &F, llvm::StringRef Name);

} // namespace nputeir

#endif
