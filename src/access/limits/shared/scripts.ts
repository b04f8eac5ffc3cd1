import { script } from './valkey.ts'

/**
 * One request and its tokens into every dimension, or into none. The first key holds the newest minute, so that a clock
 * that is set back a little opens no fresh window; the others are the counters without their minute.
 * Answers the minute, 1 or 0, then requests and tokens of each: after where it was let in, before where not.
 */
export const takeScript = script(`
local start = tonumber(ARGV[1])
local newest = tonumber(redis.call('GET', KEYS[1]) or '0')
if start == newest - tonumber(ARGV[2]) then start = newest
elseif start ~= newest then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3]) end
local minute = string.format('%.0f', start)
local counts, fits = {}, true
for i = 2, #KEYS do
  local at = 4 + (i - 2) * 3
  local found = redis.call('HMGET', KEYS[i] .. ':' .. minute, 'r', 't')
  local r, t = tonumber(found[1] or '0'), tonumber(found[2] or '0')
  counts[i - 1] = { r, t }
  local most = tonumber(ARGV[at + 1])
  if r >= tonumber(ARGV[at]) then fits = false end
  if most >= 0 and tonumber(ARGV[at + 2]) > math.max(0, most - t) then fits = false end
end
local answer = { minute, fits and 1 or 0 }
for i = 2, #KEYS do
  local at = 4 + (i - 2) * 3
  local r, t = counts[i - 1][1], counts[i - 1][2]
  if fits then
    local key = KEYS[i] .. ':' .. minute
    r = redis.call('HINCRBY', key, 'r', 1)
    t = redis.call('HINCRBY', key, 't', ARGV[at + 2])
    redis.call('PEXPIRE', key, ARGV[3])
  end
  answer[#answer + 1] = r
  answer[#answer + 1] = t
end
return answer
`)

/** The counts of now, without counting. Keys as for a request; answers the minute, then requests and tokens of each. */
export const readScript = script(`
local start = tonumber(ARGV[1])
local newest = tonumber(redis.call('GET', KEYS[1]) or '0')
if start == newest - tonumber(ARGV[2]) then start = newest end
local minute = string.format('%.0f', start)
local answer = { minute }
for i = 2, #KEYS do
  local found = redis.call('HMGET', KEYS[i] .. ':' .. minute, 'r', 't')
  answer[#answer + 1] = tonumber(found[1] or '0')
  answer[#answer + 1] = tonumber(found[2] or '0')
end
return answer
`)

/** Another number of tokens in counters that are still there, never below none. */
export const correctScript = script(`
for i = 1, #KEYS do
  if redis.call('EXISTS', KEYS[i]) == 1 then
    if redis.call('HINCRBY', KEYS[i], 't', ARGV[i]) < 0 then redis.call('HSET', KEYS[i], 't', 0) end
  end
end
return 1
`)

/**
 * One failure of a subject. Keys: its failures, its block, all blocks. Values: now, window, failures that are still let
 * pass, length of a block, its name among the failures, the channel, the subject. Answers when the block ends that this
 * failure began, or 0.
 */
export const failureScript = script(`
local now = tonumber(ARGV[1])
if tonumber(redis.call('GET', KEYS[2]) or '0') > now then return '0' end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - tonumber(ARGV[2]))
redis.call('ZADD', KEYS[1], now, ARGV[5])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
if redis.call('ZCARD', KEYS[1]) <= tonumber(ARGV[3]) then return '0' end
local untilMs = string.format('%.0f', now + tonumber(ARGV[4]))
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[2], untilMs, 'PX', ARGV[4])
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now)
redis.call('ZADD', KEYS[3], untilMs, ARGV[7])
redis.call('PEXPIRE', KEYS[3], ARGV[4])
redis.call('PUBLISH', ARGV[6], untilMs .. ' ' .. ARGV[7])
return untilMs
`)

/** Blocks that run now, each with its end after it. */
export const blocksScript = script(`
return redis.call('ZRANGEBYSCORE', KEYS[1], ARGV[1], '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[2])
`)

/** A process is there; answers how many are. */
export const presenceScript = script(`
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', tonumber(ARGV[1]) - tonumber(ARGV[2]))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return redis.call('ZCARD', KEYS[1])
`)

/** 1 for whoever says it first within so long. */
export const firstScript = script(`
if redis.call('SET', KEYS[1], '1', 'NX', 'PX', ARGV[1]) then return 1 end
return 0
`)
