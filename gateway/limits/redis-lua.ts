/**
 * How counts are kept in the store, for its scripts. Times are the store's own. A window is kept as a text of doubles, none
 * beyond 2^53: its sum, index of the first slot that counts and number of slots, time and amount of the last one, when the
 * text expires; then time and amount of each slot but the last. So most calls read and write its first bytes alone. A
 * budget is what was used and what is held, each of two numbers below 2^53, the second below 10^15: sums of money are exact
 * far beyond what one double or 64 bits hold. What is no such text, or of another type, counts as nothing and is written over.
 */
import { MAX_BUCKETS } from './window.ts';

/** Budgets are kept so long after their period, for what is settled late; those without an end so long after their last use. */
export const AFTER_END_MS = 86_400_000;
const NO_END_MS = 400 * 86_400_000;
/** Bytes of a window before its slots. */
const HEAD = 48;

/** `clock()`: Unix milliseconds. */
export const CLOCK = `
local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
`;

/** `window_...`: needs nothing. */
export const WINDOW = `
local function slot_text(w, first, last)
  return redis.call('GETRANGE', w.key, ${HEAD} + 16 * first, ${HEAD} + 16 * last + 15)
end

local function slot(w, index)
  if index == w.size - 1 then return w.last_time, w.last_amount end
  if not w.chunk or index < w.chunk_first or index > w.chunk_last then
    w.chunk_first, w.chunk_last = index, math.min(index + 15, w.size - 2)
    w.chunk = slot_text(w, w.chunk_first, w.chunk_last)
  end
  return struct.unpack('>dd', w.chunk, 16 * (index - w.chunk_first) + 1)
end

local function empty(w)
  w.sum, w.first, w.size, w.last_time, w.last_amount = 0, 0, 0, 0, 0
end

local function prune(w)
  while w.first < w.size do
    local time, amount = slot(w, w.first)
    if time + w.span > w.now then return end
    w.sum, w.first = w.sum - amount, w.first + 1
  end
  empty(w)
end

local function window(key, now, span)
  local head = redis.pcall('GETRANGE', key, 0, ${HEAD - 1})
  local w = { key = key, now = now, span = span, asked = 0, slots = true, lives_until = 0 }
  if type(head) ~= 'string' or #head ~= ${HEAD} then
    if head ~= '' then redis.call('DEL', key) end
    empty(w)
    return w
  end
  w.sum, w.first, w.size, w.last_time, w.last_amount, w.lives_until = struct.unpack('>dddddd', head)
  if w.last_time > now then w.now = w.last_time end
  prune(w)
  return w
end

local function window_wait(w, amount, value)
  local over = w.sum + w.asked + amount - value
  if over <= 0 then return 0 end
  if w.asked + amount > value then return -1 end
  for index = w.first, w.size - 1 do
    local time, freed = slot(w, index)
    over = over - freed
    if over <= 0 then return time + w.span - w.now end
  end
  return w.span
end

local function write_slot(w, index, time, amount)
  w.chunk = nil
  redis.call('SETRANGE', w.key, ${HEAD} + 16 * index, struct.pack('>dd', time, amount))
end

local function window_head(w)
  return struct.pack('>dddddd', w.sum, w.first, w.size, w.last_time, w.last_amount, w.lives_until)
end

local function rewrite(w, slots)
  w.first, w.size, w.chunk = 0, #slots + 1, nil
  w.lives_until = w.now + w.span + w.span / 4
  local life = string.format('%.0f', w.span + w.span / 4)
  redis.call('SET', w.key, window_head(w) .. table.concat(slots), 'PX', life)
end

local function merge(w)
  local cell_ms, cell, merged = 2 * w.span / ${MAX_BUCKETS}, nil, {}
  local last, sum
  for index = w.first, w.size - 1 do
    local time, amount = slot(w, index)
    local own = math.floor(time / cell_ms)
    if own == cell then
      last, sum = time, sum + amount
    else
      if cell then merged[#merged + 1] = struct.pack('>dd', last, sum) end
      cell, last, sum = own, time, amount
    end
  end
  w.last_time, w.last_amount = last, sum
  rewrite(w, merged)
end

local function append(w, time, amount)
  if w.size > w.first then write_slot(w, w.size - 1, w.last_time, w.last_amount) end
  w.last_time, w.last_amount, w.size = time, amount, w.size + 1
  if w.size - w.first > ${MAX_BUCKETS} then
    merge(w)
  elseif w.size > ${2 * MAX_BUCKETS} then
    local slots = {}
    for index = w.first, w.size - 2 do slots[#slots + 1] = struct.pack('>dd', slot(w, index)) end
    rewrite(w, slots)
  end
end

local function window_take(w, amount)
  if amount == 0 then return end
  w.sum, w.dirty = w.sum + amount, true
  if w.size > w.first and w.last_time == w.now then
    w.last_amount = w.last_amount + amount
  else
    append(w, w.now, amount)
  end
end

local function window_save(w)
  if w.lives_until < w.now + w.span then
    w.lives_until = w.now + w.span + w.span / 4
    redis.call('SETRANGE', w.key, 0, window_head(w))
    redis.call('PEXPIRE', w.key, string.format('%.0f', w.span + w.span / 4))
  else
    redis.call('SETRANGE', w.key, 0, window_head(w))
  end
end

local function window_settle(w, at, delta, now)
  if delta == 0 or at + w.span <= now then return end
  local low, high = w.first, w.size
  if high > low and at > w.last_time then low = high end
  while low < high do
    local middle = math.floor((low + high) / 2)
    if slot(w, middle) < at then low = middle + 1 else high = middle end
  end
  if low < w.size then
    local time, before = slot(w, low)
    if before + delta < 0 then delta = -before end
    if low == w.size - 1 then
      w.last_amount = before + delta
    else
      write_slot(w, low, time, before + delta)
    end
  elseif delta > 0 then
    append(w, at, delta)
  else
    return
  end
  w.sum, w.dirty = w.sum + delta, true
end
`;

/** `budget_...` and decimals: needs nothing. */
export const BUDGET = `
local BASE = 1e15
local function plus(high, low, more_high, more_low)
  local sum = low + more_low
  local rest = sum % BASE
  return high + more_high + (sum - rest) / BASE, rest
end

local function parts(amount)
  local low = math.fmod(amount, BASE)
  return (amount - low) / BASE, low
end

local function decimal(high, low)
  if high == 0 then return string.format('%.0f', low) end
  return string.format('%.0f%015.0f', high, low)
end

local function budget(key)
  local text = redis.pcall('GET', key)
  local b = { key = key, asked_high = 0, asked_low = 0 }
  if type(text) == 'string' and #text == 32 then
    b.used_high, b.used_low, b.held_high, b.held_low = struct.unpack('>dddd', text)
  else
    b.used_high, b.used_low, b.held_high, b.held_low = 0, 0, 0, 0
  end
  return b
end

local function budget_ask(b, amount, limit_high, limit_low)
  b.asked_high, b.asked_low = plus(b.asked_high, b.asked_low, parts(amount))
  local high, low = plus(b.used_high, b.used_low, b.held_high, b.held_low)
  high, low = plus(high, low, b.asked_high, b.asked_low)
  if high < limit_high or (high == limit_high and low <= limit_low) then return 0 end
  return -1
end

local function budget_take(b, amount)
  b.held_high, b.held_low = plus(b.held_high, b.held_low, parts(amount))
  b.dirty = true
end

local function budget_save(b, now)
  if b.held_high < 0 then b.held_high, b.held_low = 0, 0 end
  local lives = ${NO_END_MS}
  if b.ends ~= '' then lives = math.max(tonumber(b.ends) - now, 0) + ${AFTER_END_MS} end
  local text = struct.pack('>dddd', b.used_high, b.used_low, b.held_high, b.held_low)
  redis.call('SET', b.key, text, 'PX', string.format('%.0f', lives))
end

local function budget_settle(b, demanded, used_high, used_low)
  local high, low = parts(demanded)
  b.held_high, b.held_low = plus(b.held_high, b.held_low, -high, -low)
  b.used_high, b.used_low = plus(b.used_high, b.used_low, used_high, used_low)
  b.dirty = true
end
`;

/** Counts, each read once and written once, however many requests of a call are about it. After the others. */
export const COUNTS = `
local counts, in_order = {}, {}
local function count_of(kind, key, bound, now)
  local count = counts[key]
  if count then return count end
  if kind == 'r' then
    count = window(key, now, tonumber(bound))
  else
    count = budget(key)
    count.ends = bound
  end
  counts[key], in_order[#in_order + 1] = count, count
  return count
end

local function save_counts(now)
  for i = 1, #in_order do
    local count = in_order[i]
    if count.dirty then
      if count.slots then window_save(count) else budget_save(count, now) end
    end
  end
end
`;
