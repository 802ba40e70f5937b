/* The tables of npu/array against figures that other tools print for the same
 * hardware: port numbers and register addresses of a passthrough design that
 * was compared with AMD's driver, and rules between the tables. */
#include "array.h"
#include "check.h"
#include "device_most.h"

#include <string.h>

static void test_devices(void) {
  const struct device *d = device_find("npu1");
  CHECK(d && d == device_at(0));
  CHECK(!device_find("npu9"));
  CHECK(!device_at(-1) && !device_at(1000));
  if (!d)
    return;
  CHECK(d->columns == 4 && d->core_rows == 4 && d->txn_generation == 3);
  CHECK(d->tile[TILE_MEM].memory_bytes == 512 * 1024);
  CHECK(d->tile[TILE_CORE].memory_bytes == 64 * 1024);
  CHECK(d->tile[TILE_MEM].bds == 48 && d->tile[TILE_CORE].bds == 16);
  CHECK(d->tile[TILE_CORE].bd_words == 6 && d->tile[TILE_SHIM].bd_words == 8);
  CHECK(d->stream_words == 1 && d->bank_word_bytes == 16 && d->burst == 2);
  CHECK(device_partition(d, 1) == 1 && device_partition(d, 3) == 3);
  CHECK(tile_kind(0) == TILE_SHIM && tile_kind(1) == TILE_MEM &&
        tile_kind(2) == TILE_CORE && tile_kind(5) == TILE_CORE);
  CHECK(tile_address(3, 5, 0) == 0x06500000);
  CHECK(tile_address(1, 0, 0x1D004) == 0x0201D004);
}

/* 70 of 73 fields of the two device models are equal; what differs beside the
 * columns is said by register headers and the driver. */
static void test_second_generation(void) {
  const struct device *d = device_find("npu1"), *e = device_find("npu4");
  char name[8];
  CHECK(e != NULL);
  if (!d || !e)
    return;
  CHECK(e->columns == 8 && e->core_rows == 4 && e->txn_generation == 4);
  CHECK(memcmp(d->tile, e->tile, sizeof d->tile) == 0);
  CHECK(e->stream_words == 2 && e->bank_word_bytes == 32 && e->burst == 3);
  CHECK(e->mem_banks == 8 && e->pad_register == 0xA06E0);
  for (int columns = 1; columns <= 8; columns++)
    CHECK(device_partition(e, columns) == 8);
  /* 59.0 TOPS at 1.8 GHz is what the driver prints. */
  CHECK((int)(e->ops_per_column_cycle * 8 * 1.8e9 / 1e11) == 589);
  /* The same register, and what lies at npu1's place of the program counter */
  CHECK(device_core_register(d, 0x31100, name) && !strcmp(name, "pc"));
  CHECK(device_core_register(e, 0x30E00, name) && !strcmp(name, "pc"));
  CHECK(device_core_register(e, 0x31100, name) && !strcmp(name, "r16"));
  CHECK(device_core_register(e, 0x31230, name) && !strcmp(name, "m3"));
  CHECK(!device_core_register(e, 0x31104, name));
  CHECK(!device_core_register(e, 0x314C0, name));
}

static void test_presets(void) {
  for (int i = 0; preset_at(i); i++) {
    const struct preset *p = preset_at(i);
    CHECK(preset_find(p->name) == p);
    const struct device *d = device_find(p->device);
    CHECK(d != NULL);
    CHECK(p->clock_ghz > 0 && p->dram_count > 0 && p->dram_count <= 6);
    for (int r = 1; r < p->dram_count; r++) {
      CHECK(p->dram[r].run_bytes > p->dram[r - 1].run_bytes);
      CHECK(p->dram[r].bytes_per_second >= p->dram[r - 1].bytes_per_second);
    }
    /* Nothing is faster than all shim channels together (N10), reading and
     * writing at once. */
    if (d)
      CHECK(p->dram[p->dram_count - 1].bytes_per_second <=
            2 * d->columns * 2 * 4 * d->stream_words * p->clock_ghz * 1e9);
    CHECK(p->most_read.channel <= p->most_read.column &&
          p->most_written.channel <= p->most_written.column);
  }
  CHECK(!preset_find("nowhere"));
  const struct preset *p = preset_find("phoenix");
  CHECK(p && preset_dram(p, 112) == 7e9 && preset_dram(p, 448) == 17e9);
  CHECK(p && preset_dram(p, 1 << 20) == 17e9);
  CHECK(p && preset_dram(p, 280) == 12e9); /* half way */
  CHECK(p && preset_dram(p, 16) == 7e9 / 4);
  /* CAL-13 allows 5 percent around 100.5 cycles of a 1.028 GHz clock. */
  CHECK(p && p->write32_cycles >= 93 && p->write32_cycles <= 103);
}

/* P6, in the traced Phoenix's 1.028 GHz: 1076 cycles less or more what is
 * rounded. */
static void test_tasks(void) {
  for (int i = 0; preset_at(i); i++) {
    const struct preset *p = preset_at(i);
    double cycles = preset_task_cycles(p) / p->clock_ghz * 1.028;
    CHECK(cycles > 1060 && cycles < 1090);
    const struct device *dev = device_find(p->device);
    CHECK(dev && strcmp(preset_of(dev)->device, p->device) == 0);
  }
}

static void test_port_numbers(void) {
  static const int counts[TILE_KINDS][2] = {
      [TILE_SHIM] = {22, 23}, [TILE_MEM] = {17, 18}, [TILE_CORE] = {23, 25}};
  for (int kind = 0; kind < TILE_KINDS; kind++) {
    enum port port;
    int channel;
    for (int i = 0; i < 32; i++) {
      bool master = port_of_master(kind, i, &port, &channel);
      CHECK(master == (i < counts[kind][0]));
      if (master)
        CHECK(port_master(kind, port, channel) == i);
      bool slave = port_of_slave(kind, i, &port, &channel);
      CHECK(slave == (i < counts[kind][1]));
      if (slave)
        CHECK(port_slave(kind, port, channel) == i);
    }
    CHECK(!port_of_master(kind, -1, &port, &channel));
  }
  /* Register offsets of the passthrough: 0x3F030 is shim North0, slave 5 is
   * South3 and so on. */
  CHECK(port_master(TILE_SHIM, PORT_NORTH, 0) == 0x30 / 4);
  CHECK(port_slave(TILE_SHIM, PORT_SOUTH, 3) == 5);
  CHECK(port_master(TILE_SHIM, PORT_SOUTH, 2) == 0x10 / 4);
  CHECK(port_slave(TILE_SHIM, PORT_NORTH, 0) == 0x0E);
  CHECK(port_slave(TILE_MEM, PORT_SOUTH, 0) == 7);
  CHECK(port_master(TILE_MEM, PORT_NORTH, 0) == 0x2C / 4);
  CHECK(port_slave(TILE_MEM, PORT_NORTH, 0) == 0x0D);
  CHECK(port_master(TILE_CORE, PORT_SOUTH, 0) == 0x14 / 4);
  CHECK(port_slave(TILE_CORE, PORT_SOUTH, 0) == 5);
  CHECK(port_master(TILE_MEM, PORT_EAST, 0) == -1);
  CHECK(port_master(TILE_CORE, PORT_SOUTH, 4) == -1);
}

static void test_connections(void) {
  CHECK(port_connects(TILE_MEM, PORT_SOUTH, 2, PORT_NORTH, 2));
  CHECK(!port_connects(TILE_MEM, PORT_SOUTH, 2, PORT_NORTH, 3));
  CHECK(port_connects(TILE_MEM, PORT_SOUTH, 2, PORT_DMA, 5));
  CHECK(!port_connects(TILE_MEM, PORT_DMA, 1, PORT_DMA, 2));
  CHECK(port_connects(TILE_CORE, PORT_SOUTH, 1, PORT_NORTH, 4));
  CHECK(!port_connects(TILE_CORE, PORT_EAST, 1, PORT_EAST, 0));
  CHECK(port_connects(TILE_CORE, PORT_EAST, 1, PORT_EAST, 1));
  CHECK(!port_connects(TILE_CORE, PORT_DMA, 0, PORT_DMA, 1));
  CHECK(!port_connects(TILE_CORE, PORT_CORE, 0, PORT_CORE, 0));
  CHECK(port_connects(TILE_SHIM, PORT_CONTROL, 0, PORT_SOUTH, 0));
  CHECK(port_connects(TILE_SHIM, PORT_SOUTH, 3, PORT_WEST, 3));
  CHECK(!port_connects(TILE_SHIM, PORT_WEST, 0, PORT_WEST, 1));
  CHECK(!port_connects(TILE_SHIM, PORT_DMA, 0, PORT_NORTH, 0));
  CHECK(!port_connects(TILE_MEM, PORT_TRACE, 0, PORT_DMA, 4));
}

static void test_most(void) {
  for (int i = 0; device_at(i); i++) {
    CHECK(device_at(i)->program_bytes <= DEVICE_MOST_PROGRAM_BYTES);
    CHECK(device_at(i)->queue_depth <= DEVICE_MOST_TASKS);
    CHECK(device_at(i)->max_lock <= DEVICE_MOST_LOCK);
    CHECK(device_at(i)->core_address == DEVICE_CORE_ADDRESS);
    CHECK(device_at(i)->core_lock == DEVICE_CORE_LOCK);
    CHECK(device_at(i)->tile[TILE_CORE].memory_bytes <= DEVICE_MOST_CORE_BYTES);
    CHECK(device_at(i)->tile[TILE_CORE].locks <= DEVICE_MOST_CORE_LOCKS);
    CHECK(device_at(i)->queue_depth > 0 && device_at(i)->max_lock > 0);
    CHECK(device_at(i)->tile[TILE_CORE].memory_bytes %
              (uint32_t)device_at(i)->core_banks ==
          0);
  }
}

int main(void) {
  test_most();
  test_devices();
  test_second_generation();
  test_presets();
  test_tasks();
  test_port_numbers();
  test_connections();
  return check_result();
}
