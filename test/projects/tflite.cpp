// tflite.cpp -- the reference kernels of TensorFlow Lite for microcontrollers,
// which are headers: layers and convolutions of floats and of bytes, as tables
// of sums.
#include "tensorflow/lite/kernels/internal/common.cc"
#include "tensorflow/lite/kernels/internal/reference/batch_matmul.h"
#include "tensorflow/lite/kernels/internal/reference/conv.h"
#include "tensorflow/lite/kernels/internal/reference/depthwiseconv_float.h"
#include "tensorflow/lite/kernels/internal/reference/fully_connected.h"
#include "tensorflow/lite/kernels/internal/reference/integer_ops/conv.h"
#include "tensorflow/lite/kernels/internal/reference/integer_ops/depthwise_conv.h"
#include "tensorflow/lite/kernels/internal/reference/integer_ops/fully_connected.h"
#include "tensorflow/lite/kernels/internal/reference/transpose_conv.h"

#include <cstdio>

using namespace tflite;

enum { SIZE = 16384 };
static float a[SIZE], b[SIZE], bias[64], c[SIZE];
static int8_t a8[SIZE], b8[SIZE], c8[SIZE];
static int32_t bias32[64], scale[64], shift[64];

static void print(int count) {
  for (int i = 0; i < count; i++)
    printf("%.3f%c", (double)c[i], i % 16 == 15 ? '\n' : ' ');
  printf("\n");
}
static void print8(int count) {
  for (int i = 0; i < count; i++)
    printf("%d%c", c8[i], i % 16 == 15 ? '\n' : ' ');
  printf("\n");
}

static RuntimeShape shape(std::initializer_list<int32_t> sizes) {
  return RuntimeShape((int)sizes.size(), sizes.begin());
}

static void floats(const RuntimeShape &image, const RuntimeShape &filter,
                   const RuntimeShape &out, const RuntimeShape &channels) {
  ConvParams conv = {};
  conv.stride_width = conv.stride_height = 1;
  conv.dilation_width_factor = conv.dilation_height_factor = 1;
  conv.padding_values.width = conv.padding_values.height = 1;
  conv.float_activation_min = 0;
  conv.float_activation_max = 1000;
  reference_ops::Conv(conv, image, a, filter, b, channels, bias, out, c, image,
                      nullptr);
  print(out.FlatSize());
  reference_ops::TransposeConv(conv, image, a, filter, b, channels, bias, out,
                               c, image, nullptr);
  print(out.FlatSize());
  DepthwiseParams depth = {};
  depth.stride_width = depth.stride_height = 1;
  depth.dilation_width_factor = depth.dilation_height_factor = 1;
  depth.padding_values.width = depth.padding_values.height = 1;
  depth.depth_multiplier = 2;
  depth.float_activation_min = -1000;
  depth.float_activation_max = 1000;
  reference_ops::DepthwiseConv(depth, image, a, shape({1, 3, 3, 16}), b,
                               shape({16}), bias, shape({1, 10, 12, 16}), c);
  print(10 * 12 * 16);
  FullyConnectedParams layer = {};
  layer.float_activation_min = -1000;
  layer.float_activation_max = 1000;
  reference_ops::FullyConnected(layer, shape({30, 44}), a, shape({26, 44}), b,
                                shape({26}), bias, shape({30, 26}), c);
  print(30 * 26);
  reference_ops::BatchMatMul<float, float, float>(
      shape({2, 20, 24}), a, shape({2, 24, 18}), b, shape({2, 20, 18}), c);
  print(2 * 20 * 18);
}

static void bytes(const RuntimeShape &image, const RuntimeShape &filter,
                  const RuntimeShape &out, const RuntimeShape &channels) {
  ConvParams conv = {};
  conv.stride_width = conv.stride_height = 1;
  conv.dilation_width_factor = conv.dilation_height_factor = 1;
  conv.padding_values.width = conv.padding_values.height = 1;
  conv.input_offset = 3;
  conv.quantized_activation_min = -128;
  conv.quantized_activation_max = 127;
  reference_integer_ops::ConvPerChannel(conv, scale, shift, image, a8, filter,
                                        b8, channels, bias32, out, c8);
  print8(out.FlatSize());
  DepthwiseParams depth = {};
  depth.stride_width = depth.stride_height = 1;
  depth.dilation_width_factor = depth.dilation_height_factor = 1;
  depth.padding_values.width = depth.padding_values.height = 1;
  depth.depth_multiplier = 2;
  depth.input_offset = 3;
  depth.quantized_activation_min = -128;
  depth.quantized_activation_max = 127;
  reference_integer_ops::DepthwiseConvPerChannel(
      depth, scale, shift, image, a8, shape({1, 3, 3, 16}), b8, shape({16}),
      bias32, shape({1, 10, 12, 16}), c8);
  print8(10 * 12 * 16);
  FullyConnectedParams layer = {};
  layer.input_offset = 3;
  layer.weights_offset = -1;
  layer.output_multiplier = scale[0];
  layer.output_shift = shift[0];
  layer.quantized_activation_min = -128;
  layer.quantized_activation_max = 127;
  reference_integer_ops::FullyConnected<int8_t, int8_t, int8_t, int32_t>(
      layer, shape({30, 44}), a8, shape({26, 44}), b8, shape({26}), bias32,
      shape({30, 26}), c8);
  print8(30 * 26);
}

int main() {
  for (int i = 0; i < SIZE; i++) {
    a[i] = (float)(i * 7 % 23 - 11) / 16;
    b[i] = (float)(i * 5 % 19 - 9) / 8;
    a8[i] = (int8_t)(i * 37);
    b8[i] = (int8_t)(i * 91);
  }
  for (int i = 0; i < 64; i++) {
    bias[i] = (float)i / 4;
    bias32[i] = i * 100;
    scale[i] = (1 << 30) + i;
    shift[i] = -10;
  }
  RuntimeShape image = shape({1, 10, 12, 8}), filter = shape({6, 3, 3, 8});
  RuntimeShape out = shape({1, 10, 12, 6}), channels = shape({6});
  floats(image, filter, out, channels);
  bytes(image, filter, out, channels);
}
