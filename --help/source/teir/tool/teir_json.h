/* teir_json.h -- TEIR as JSON, for people who script.
 *
 *   {"teir": 1, "symbols": ["n"],
 *    "tensors": [{"id": "in0", "type": "f32"}, ..],
 *    "axes": [{"id": "m", "extent": 64, "strides": {"in0": 256, "out": "n"},
 *              "offsets": {"out": -16}}, ..],
 *    "primitives": [{"id": "p", "operation": "Contraction",
 *                    "axes": {"M": ["m"], "N": [], "K": ["k"]},
 *                    "inputs": ["in0", "in1"], "output": "out",
 *                    "metadata": {"data_type": "f32"}}, ..],
 *    "roots": ["m"],
 *    "nodes": [{"id": "m", "axis": "m", "policy": "parallel",
 *               "place": "rows", "guard": [{"first": "k"}],
 *               "children": ["x"]},
 *              {"id": "x", "primitive": "p"}, ..],
 *    "limits": [{"sign": "nonnegative", "start": -1, "along": {"m": 1}}]}
 *
 * An identifier is a string or a whole number: 7 and "7" are the same one.  A
 * size is a whole number or, as a string, a symbol.  Strides and offsets may
 * also be lists, one number per tensor; those that are 0, inputs and outputs
 * that go by name, guards (or null), places, metadata, symbols and limits may
 * be left out.  A Map has an "expression".  Values of metadata are strings,
 * numbers, true or false.  Other keys are errors.
 */
#ifndef NPUTEIR_TEIR_JSON_H
#define NPUTEIR_TEIR_JSON_H

#include "teir.h"

struct teir *teir_json_parse(struct arena *, const char *file, const char *text,
                             struct diag *); /* parses and verifies */
void teir_json_print(const struct teir *, struct text *);

#endif
