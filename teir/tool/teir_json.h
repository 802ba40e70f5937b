/* teir_json.h -- TEIR as JSON, for people who script.  A library of its own,
 * so that only programs that want it need libjansson.
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
 *              {"id": "x", "primitive": "p"}, ..]}
 *
 * Strides and offsets that are 0, inputs and outputs that go by name, guards
 * and places may be left out.
 */
#ifndef NPUTEIR_TEIR_JSON_H
#define NPUTEIR_TEIR_JSON_H

#include "teir.h"

struct teir *teir_json_parse(struct arena *, const char *file, const char *text,
                             struct diag *); /* parses and verifies */
void teir_json_print(const struct teir *, struct text *);

#endif
