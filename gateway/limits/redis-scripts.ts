/** What runs inside the store, each in one step. */
import { createHash } from 'node:crypto';
import { AFTER_END_MS, BUDGET, CLOCK, COUNTS, WINDOW } from './redis-lua.ts';

export interface Script {
  readonly lua: string;
  readonly sha1: string;
}

/** A replica that was not heard of for so long is dead; with the beats of the others, what it held lapses within 60 s. */
const DEAD_MS = 45_000;
/** What a dead replica holds is given back in steps, or all would wait. */
const HOLDS_PER_STEP = 200;

/** Gives back what a hold that nobody will settle has; its text is that of WORK. */
const UNDO = `
local function undo(holds, id, now)
  local text = redis.call('HGET', holds, id)
  if not text then return end
  local at = tonumber(string.match(text, '^%d+'))
  for amount, kind, bound, key in string.gmatch(text, '(%d+) (%a) (%d*) ([^\\n]+)\\n') do
    local count = count_of(kind, key, bound, now)
    if kind == 'r' then
      window_settle(count, at, -tonumber(amount), now)
    else
      budget_settle(count, tonumber(amount), 0, 0)
    end
  end
  redis.call('HDEL', holds, id)
end
`;

/**
 * Settlements, then requests, in their order; each sees what those before it did.
 * KEYS: replicas, holds, settlements that are not acknowledged, counters.
 * ARGV: replica; number of these settlements, 0 without any; count of acknowledged numbers, and these; for each counter its
 * kind and, `r`: window in ms, value, nothing; `b`: end in Unix ms or nothing, limit in two parts; count of settlements, each
 * with id of its hold, count of rows and in each: counter from 1, time and amount demanded, what was used in two parts; count
 * of requests, each with id of its hold, count of demands and in each: counter and amount.
 * What was used without being demanded, or of a hold that lapsed, has time 0 for now, and is added.
 * Answers `unknown`, and does nothing; or `ok`, time, for each counter how it stands after the settlements, `r`: sum, ms to its
 * reset; `b`: used, held; and for each request the demand that is refused or -1, and ms to wait (-1: for ever).
 */
const WORK = `
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return { 'unknown' } end
local now, acknowledged = clock(), tonumber(ARGV[3])
local is_new = ARGV[2] ~= '0' and redis.call('HSETNX', KEYS[3], ARGV[2], 1) == 1
if acknowledged > 0 then redis.call('HDEL', KEYS[3], unpack(ARGV, 4, 3 + acknowledged)) end
local at, counters = 4 + acknowledged, {}
for i = 4, #KEYS do
  local kind, bound, key = ARGV[at], ARGV[at + 1], KEYS[i]
  local counter = { count = count_of(kind, key, bound, now), suffix = ' ' .. kind .. ' ' .. bound .. ' ' .. key .. '\\n' }
  if kind == 'r' then
    counter.value = tonumber(ARGV[at + 2])
  else
    counter.high, counter.low = tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  end
  counters[i - 3], at = counter, at + 4
end

local settlements = tonumber(ARGV[at])
at = at + 1
for _ = 1, settlements do
  local hold, rows = ARGV[at], tonumber(ARGV[at + 1])
  local is_held = is_new and redis.call('HDEL', KEYS[2], hold) == 1
  at = at + 2
  for _ = 1, rows do
    if is_new then
      local counter, time = counters[tonumber(ARGV[at])], tonumber(ARGV[at + 1])
      local demanded = is_held and tonumber(ARGV[at + 2]) or 0
      local high, low = tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
      if counter.value then
        if time == 0 then time = now end
        window_settle(counter.count, time, high * BASE + low - demanded, now)
      else
        budget_settle(counter.count, demanded, high, low)
      end
    end
    at = at + 5
  end
end

local answer, holds = { 'ok', now }, {}
for i = 1, #counters do
  local count = counters[i].count
  if count.slots then
    answer[2 * i + 1], answer[2 * i + 2] = count.sum, count.sum > 0 and count.last_time + count.span - now or 0
  else
    answer[2 * i + 1] = decimal(count.used_high, count.used_low)
    answer[2 * i + 2] = decimal(count.held_high, count.held_low)
  end
end
local requests = tonumber(ARGV[at])
at = at + 1
for _ = 1, requests do
  local id, demands = ARGV[at], tonumber(ARGV[at + 1])
  local first, refused, longest, own, amounts = at + 2, -1, 0, {}, {}
  at = first + 2 * demands
  for i = 1, demands do
    local counter, amount, wait = counters[tonumber(ARGV[first + 2 * i - 2])], tonumber(ARGV[first + 2 * i - 1]), 0
    own[i], amounts[i] = counter, amount
    if counter.value then
      wait = window_wait(counter.count, amount, counter.value)
      counter.count.asked = counter.count.asked + amount
    else
      wait = budget_ask(counter.count, amount, counter.high, counter.low)
    end
    if longest ~= -1 and (wait == -1 or wait > longest) then refused, longest = i - 1, wait end
  end
  local held = { now, '\\n' }
  for i = 1, demands do
    local count = own[i].count
    count.asked, count.asked_high, count.asked_low = 0, 0, 0
    if refused < 0 and amounts[i] > 0 then
      if count.slots then window_take(count, amounts[i]) else budget_take(count, amounts[i]) end
      held[#held + 1], held[#held + 2] = ARGV[first + 2 * i - 1], own[i].suffix
    end
  end
  if #held > 2 then holds[#holds + 1], holds[#holds + 2] = id, table.concat(held) end
  answer[#answer + 1], answer[#answer + 2] = refused, longest
end
if #holds > 0 then redis.call('HSET', KEYS[2], unpack(holds)) end
save_counts(now)
return answer
`;

/**
 * A replica lives. KEYS: replicas, its holds, its settlements. ARGV: replica, what holds and what settlements of any replica are
 * called before its name. What is of a wrong type is removed. Gives back what a dead replica held. Answers how many holds this one has, and whether it was known.
 */
const BEAT = `
local now = clock()
for i, kind in ipairs({ 'zset', 'hash', 'hash' }) do
  local type = redis.call('TYPE', KEYS[i]).ok
  if type ~= kind and type ~= 'none' then redis.call('DEL', KEYS[i]) end
end
local is_new = redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('PEXPIRE', KEYS[3], ${AFTER_END_MS})
local dead = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now - ${DEAD_MS}, 'LIMIT', 0, 1)[1]
if dead then
  local holds = ARGV[2] .. dead
  local found = redis.call('HSCAN', holds, 0, 'COUNT', ${HOLDS_PER_STEP})
  for i = 1, #found[2], 2 do undo(holds, found[2][i], now) end
  save_counts(now)
  redis.call('PEXPIRE', ARGV[3] .. dead, ${AFTER_END_MS})
  if redis.call('EXISTS', holds) == 0 then redis.call('ZREM', KEYS[1], dead) end
end
return { redis.call('HLEN', KEYS[2]), is_new }
`;

/** KEYS: holds. ARGV: ids of holds that nobody will settle. */
const CANCEL = `
local now = clock()
for i = 1, #ARGV do undo(KEYS[1], ARGV[i], now) end
save_counts(now)
return #ARGV
`;

/** After a flush. KEYS: budgets. ARGV: for each what was used at least, in two parts, and its end. */
const REMEMBER = `
local now = clock()
for i = 1, #KEYS do
  local high, low, ends = tonumber(ARGV[3 * i - 2]), tonumber(ARGV[3 * i - 1]), ARGV[3 * i]
  local b = count_of('b', KEYS[i], ends, now)
  if b.used_high < high or (b.used_high == high and b.used_low < low) then
    b.used_high, b.used_low, b.dirty = high, low, true
  end
end
save_counts(now)
return #KEYS
`;

/** A replica goes. KEYS: replicas, holds, settlements. ARGV: replica. What it still holds lapses as if it had died. */
const LEAVE = `
if redis.call('EXISTS', KEYS[2]) == 0 then redis.call('ZREM', KEYS[1], ARGV[1]) end
return redis.call('DEL', KEYS[3])
`;

/** Without arguments it does nothing: so it is loaded where its key lies, in a cluster too. */
const LOADING = 'if #ARGV == 0 then return 0 end\n';

function script(...parts: readonly string[]): Script {
  const lua = LOADING + parts.join('');
  return { lua, sha1: createHash('sha1').update(lua).digest('hex') };
}

const ALL = [CLOCK, WINDOW, BUDGET, COUNTS] as const;

export const SCRIPTS = {
  work: script(...ALL, WORK),
  beat: script(...ALL, UNDO, BEAT),
  cancel: script(...ALL, UNDO, CANCEL),
  remember: script(...ALL, REMEMBER),
  leave: script(LEAVE),
} as const;

export type ScriptName = keyof typeof SCRIPTS;
