/* Packet switching: two core tiles share one lane down to a mem tile, which
 * sorts the packets by their id into two channels; headers are dropped or
 * kept; one packet reaches several masters; mistakes are named. */
#include "sim_design.h"

enum { WORDS = 40, PACKETS = 6 };

static uint32_t packet_slave(void) { return 0xC0000000u; }
static uint32_t slot(uint32_t id, uint32_t mask, uint32_t msel, uint32_t arb) {
  return id << 24 | mask << 16 | 1u << 8 | msel << 4 | arb;
}
static uint32_t packet_master(bool drop, uint32_t msels, uint32_t arbiter) {
  return 0xC0000000u | (drop ? 0x80u : 0) | msels << 3 | arbiter;
}

static void set_slave(struct command_list *l, int row, enum port p, int channel,
                      uint32_t slot_index, uint32_t slot_value) {
  uint32_t slaves = row == 1 ? REG_MEM_SLAVE : REG_CORE_SLAVE;
  uint32_t slots = row == 1 ? REG_MEM_SLOT : REG_CORE_SLOT;
  uint32_t i = (uint32_t)port_slave(tile_kind(row), p, channel);
  command_write(l, tile_address(0, row, slaves + 4 * i), packet_slave());
  command_write(l, tile_address(0, row, slots + 16 * i + 4 * slot_index),
                slot_value);
}

static void set_master(struct command_list *l, int row, enum port p,
                       int channel, uint32_t value) {
  uint32_t masters = row == 1 ? REG_MEM_MASTER : REG_CORE_MASTER;
  uint32_t i = (uint32_t)port_master(tile_kind(row), p, channel);
  command_write(l, tile_address(0, row, masters + 4 * i), value);
}

static uint32_t word_of(int row, int packet, int i) {
  return (uint32_t)(row << 16 | packet << 8 | i);
}

/* Core tile `row` sends PACKETS packets of WORDS words with id `id`. */
static void sender(struct command_list *l, int row, int id) {
  uint32_t data[WORDS * PACKETS];
  for (int p = 0; p < PACKETS; p++)
    for (int i = 0; i < WORDS; i++)
      data[p * WORDS + i] = word_of(row, p, i);
  command_block(l, tile_address(0, row, 0), data, WORDS * PACKETS);
  struct bd b = plain_bd(0, WORDS);
  b.packet = true;
  b.packet_id = id;
  b.packet_type = 3;
  b.iteration_step_words = WORDS;
  b.iteration_count = PACKETS;
  put_bd(l, 0, row, 0, &b);
  push_task(l, 0, row, true, 0, 0, PACKETS, false);
}

/* Both senders onto South0 of row 2: row 3's packets come in at North0. */
static struct command_list *senders(struct arena *a) {
  struct command_list *l = command_list(a);
  sender(l, 2, 4);
  sender(l, 3, 9);
  set_slave(l, 3, PORT_DMA, 0, 0, slot(9, 0x1F, 0, 1));
  set_master(l, 3, PORT_SOUTH, 0, packet_master(false, 1, 1));
  set_slave(l, 2, PORT_NORTH, 0, 0, slot(9, 0x1F, 2, 3));
  set_slave(l, 2, PORT_DMA, 0, 0, slot(4, 0x1F, 2, 3));
  set_master(l, 2, PORT_SOUTH, 0, packet_master(false, 4, 3));
  return l;
}

static void receiver(struct command_list *l, int channel, uint32_t words) {
  struct bd b = plain_bd(0x4000 * (uint64_t)channel, words);
  int bd = channel & 1 ? 24 + channel : channel;
  put_bd(l, 0, 1, bd, &b);
  push_task(l, 0, 1, false, channel, bd, 1, false);
}

static bool settle(struct arena *a, struct sim *s, struct diag *d) {
  struct command_list *l = command_list(a);
  command_delay(l, 5000);
  return sim_execute(s, l, NULL, 0, NULL, d);
}

static const uint32_t *memory(struct sim *s, int channel) {
  return (const uint32_t *)(tile_at(s, 0, 1)->memory + 0x4000 * channel);
}

static void test_sorting(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct command_list *l = senders(a);
  set_slave(l, 1, PORT_NORTH, 0, 0, slot(4, 0x1F, 0, 0));
  set_slave(l, 1, PORT_NORTH, 0, 1, slot(8, 0x1E, 1, 5)); /* 8 and 9 */
  set_master(l, 1, PORT_DMA, 0, packet_master(true, 1, 0));
  set_master(l, 1, PORT_DMA, 1, packet_master(true, 2, 5));
  receiver(l, 0, WORDS * PACKETS);
  receiver(l, 1, WORDS * PACKETS);
  struct sim *s = open_design("phoenix", 1, l);
  CHECK(settle(a, s, &d));
  bool right = true;
  for (int p = 0; p < PACKETS; p++)
    for (int i = 0; i < WORDS; i++) {
      right &= memory(s, 0)[p * WORDS + i] == word_of(2, p, i);
      right &= memory(s, 1)[p * WORDS + i] == word_of(3, p, i);
    }
  CHECK(right);
  CHECK(channel_of(tile_at(s, 0, 1), false, 0)->state == CHANNEL_IDLE);
  CHECK(channel_of(tile_at(s, 0, 1), false, 1)->state == CHANNEL_IDLE);
  sim_close(s);
  arena_close(a);
}

/* All packets into one channel, headers kept, and copies of one sender's into
 * another: packets are never mixed. */
static void test_headers_and_multicast(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct command_list *l = senders(a);
  set_slave(l, 1, PORT_NORTH, 0, 0, slot(4, 0x1F, 0, 0));
  set_slave(l, 1, PORT_NORTH, 0, 1, slot(9, 0x1F, 1, 0));
  set_master(l, 1, PORT_DMA, 0, packet_master(false, 3, 0));
  set_master(l, 1, PORT_DMA, 1, packet_master(true, 2, 0));
  receiver(l, 0, 2 * (WORDS + 1) * PACKETS);
  receiver(l, 1, WORDS * PACKETS);
  struct sim *s = open_design("phoenix", 1, l);
  CHECK(settle(a, s, &d));
  int seen[6] = {0};
  bool right = true;
  for (int n = 0; n < 2 * PACKETS; n++) {
    const uint32_t *packet = memory(s, 0) + n * (WORDS + 1);
    int row = packet[0] >> 16 & 0x1F; /* the source's row (array.md section 6) */
    CHECK(row == 2 || row == 3);
    if (row != 2 && row != 3)
      break;
    CHECK((packet[0] & 0x1F) == (row == 2 ? 4 : 9));
    CHECK((packet[0] >> 12 & 7) == 3 && (packet[0] >> 21 & 0x7F) == 0);
    CHECK(__builtin_parity(packet[0]) == 1);
    for (int i = 0; i < WORDS; i++)
      right &= packet[1 + i] == word_of(row, seen[row], i);
    seen[row]++;
  }
  CHECK(seen[2] == PACKETS && seen[3] == PACKETS);
  for (int i = 0; i < WORDS * PACKETS; i++)
    right &= memory(s, 1)[i] == word_of(3, i / WORDS, i % WORDS);
  CHECK(right);
  sim_close(s);
  arena_close(a);
}

static void test_no_slot(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct command_list *l = senders(a);
  set_slave(l, 1, PORT_NORTH, 0, 0, slot(4, 0x1F, 0, 0));
  set_master(l, 1, PORT_DMA, 0, packet_master(true, 1, 0));
  receiver(l, 0, WORDS * PACKETS);
  struct sim *s = open_design("phoenix", 1, l);
  CHECK(!settle(a, s, &d));
  CHECK(strstr(d.text, "mem (0,1): a packet with id 9 at slave north0 matches "
                       "none of its slots"));
  sim_close(s);
  arena_close(a);
}

/* The slot names an arbiter that no master listens to. */
static void test_no_master(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct command_list *l = senders(a), *wait = command_list(a);
  set_slave(l, 1, PORT_NORTH, 0, 0, slot(0, 0, 3, 2));
  token_route(l, 0);
  command_sync(wait, 0, 1, false, 0);
  struct sim *s = open_design("phoenix", 1, l);
  CHECK(!sim_execute(s, wait, NULL, 0, NULL, &d));
  CHECK(strstr(d.text, "words at slave north0 of mem (0,1) that no connected "
                       "master takes"));
  sim_close(s);
  arena_close(a);
}

/* Tokens of all tiles of a column, each with its own controller id, over one
 * lane down to the shim. */
static void test_far_tokens(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct command_list *l = command_list(a), *wait = command_list(a);
  for (int row = 1; row < 3; row++) {
    set_slave(l, row, PORT_CONTROL, 0, 0, slot(20 + (uint32_t)row, 0x1F, 0, 0));
    set_master(l, row, PORT_SOUTH, 3, packet_master(false, 1, 0));
    struct bd b = plain_bd(0, WORDS);
    put_bd(l, 0, row, 0, &b);
    put_bd(l, 0, row, 1, &b);
    connect_ports(l, 0, row, PORT_DMA, 0, PORT_DMA, 0);
    uint32_t control = row == 1 ? REG_MEM_S2MM_CTRL : REG_CORE_S2MM_CTRL;
    command_write(wait, tile_address(0, row, control),
                  (uint32_t)(20 + row) << 8);
    push_task(wait, 0, row, false, 0, 0, 1, true);
    push_task(wait, 0, row, true, 0, 1, 1, false);
  }
  set_slave(l, 1, PORT_NORTH, 3, 0, slot(22, 0x1F, 0, 0));
  uint32_t south3 = (uint32_t)port_slave(TILE_SHIM, PORT_NORTH, 3);
  command_write(l, tile_address(0, 0, REG_SHIM_SLAVE + 4 * south3),
                packet_slave());
  command_write(l, tile_address(0, 0, REG_SHIM_SLOT + 16 * south3),
                slot(20, 0x1C, 0, 0));
  command_write(l, tile_address(0, 0, 0x3F008), packet_master(false, 1, 0));
  command_sync(wait, 0, 2, false, 0);
  command_sync(wait, 0, 1, false, 0);
  struct sim *s = open_design("phoenix", 1, l);
  bool done = sim_execute(s, wait, NULL, 0, NULL, &d);
  if (!done)
    diag_print(&d, stderr);
  CHECK(done);
  sim_close(s);
  arena_close(a);
}

/* Control packets from core tile (0,2) write three words of the mem tile's
 * memory and a lock, then read the words back; the answer goes to S2MM 5. */
static void test_control_packets(bool drop_header) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct command_list *l = command_list(a);
  static const uint32_t words[] = {
      2u << 20 | 0x2000,
      11,
      22,
      33, /* write 3 */
      0xC0000 + 0x10 * 9,
      5,                                      /* write 1: lock 9 */
      7u << 24 | 1u << 22 | 2u << 20 | 0x2000 /* read 3, answer to id 7 */
  };
  enum { COUNT = sizeof words / sizeof *words };
  command_block(l, tile_address(0, 2, 0), words, COUNT);
  struct bd b = plain_bd(0, COUNT), in = plain_bd(0x4000, 3);
  b.packet = true;
  b.packet_id = 5;
  put_bd(l, 0, 2, 0, &b);
  push_task(l, 0, 2, true, 0, 0, 1, false);
  put_bd(l, 0, 1, 24, &in);
  push_task(l, 0, 1, false, 5, 24, 1, false);
  set_slave(l, 2, PORT_DMA, 0, 0, slot(5, 0x1F, 0, 0));
  set_master(l, 2, PORT_SOUTH, 0, packet_master(false, 1, 0));
  set_slave(l, 1, PORT_NORTH, 0, 0, slot(5, 0x1F, 0, 1));
  set_master(l, 1, PORT_CONTROL, 0, packet_master(drop_header, 1, 1));
  set_slave(l, 1, PORT_CONTROL, 0, 0, slot(7, 0x1F, 0, 2));
  set_master(l, 1, PORT_DMA, 5, packet_master(true, 1, 2));
  struct sim *s = open_design("phoenix", 1, l);
  bool done = settle(a, s, &d);
  if (!done)
    diag_print(&d, stderr);
  CHECK(done);
  CHECK(memory(s, 0)[0x800] == 11 && memory(s, 0)[0x801] == 22 &&
        memory(s, 0)[0x802] == 33);
  CHECK(tile_at(s, 0, 1)->lock[9].value == 5);
  CHECK(memcmp(memory(s, 1), words + 1, 12) == 0);
  sim_close(s);
  arena_close(a);
}

/* Finish-on-TLAST: packets of any length, each ends its descriptor. */
static void test_finish_on_tlast(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct command_list *l = command_list(a);
  uint32_t data[64];
  for (uint32_t i = 0; i < 64; i++)
    data[i] = 100 + i;
  command_block(l, tile_address(0, 2, 0), data, 64);
  connect_ports(l, 0, 2, PORT_DMA, 0, PORT_DMA, 0);
  static const uint32_t lengths[] = {7, 16, 1, 10};
  uint64_t at = 0;
  for (int i = 0; i < 4; i++) {
    struct bd from = plain_bd(4 * at, lengths[i]);
    struct bd to = plain_bd(0x8000 + 0x100 * (uint64_t)i, 60);
    at += lengths[i];
    from.next = i < 3 ? i + 1 : -1;
    to.next = i < 3 ? 8 + i + 1 : -1;
    put_bd(l, 0, 2, i, &from);
    put_bd(l, 0, 2, 8 + i, &to);
  }
  command_write(l, tile_address(0, 2, REG_CORE_S2MM_CTRL), 1u << 16);
  push_task(l, 0, 2, false, 0, 8, 1, false);
  push_task(l, 0, 2, true, 0, 0, 1, false);
  struct sim *s = open_design("phoenix", 1, l);
  CHECK(settle(a, s, &d));
  CHECK(channel_of(tile_at(s, 0, 2), false, 0)->state == CHANNEL_IDLE);
  uint32_t next = 100;
  for (int i = 0; i < 4; i++) {
    const uint32_t *got =
        (const uint32_t *)(tile_at(s, 0, 2)->memory + 0x8000 + 0x100 * i);
    for (uint32_t w = 0; w < lengths[i]; w++)
      CHECK(got[w] == next++);
    CHECK(got[lengths[i]] == 0);
  }
  sim_close(s);
  arena_close(a);
}

/* Packet switching obeys the same table of connections as circuits. */
static void test_illegal_packet_way(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct command_list *l = senders(a);
  set_slave(l, 1, PORT_NORTH, 0, 0, slot(0, 0, 0, 0));
  set_master(l, 1, PORT_SOUTH, 2, packet_master(false, 1, 0));
  struct sim *s = open_design("phoenix", 1, l);
  CHECK(!settle(a, s, &d));
  CHECK(strstr(d.text, "the switch cannot connect slave north0 to south2"));
  sim_close(s);
  arena_close(a);
}

int main(void) {
  test_control_packets(false);
  test_control_packets(true);
  test_finish_on_tlast();
  test_illegal_packet_way();
  test_sorting();
  test_headers_and_multicast();
  test_no_slot();
  test_no_master();
  test_far_tokens();
  return check_result();
}
