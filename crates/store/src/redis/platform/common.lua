-- What the scripts of the platform's keys have in common.
--
-- ARGV: rows as JSON, the milliseconds that keys live (0: for ever), the present in Unix milliseconds, options as JSON.
-- A key that another program made of another type costs its own entry only: `try` passes over the command and counts it
-- in `refused`; `set` does for SET, which would replace what is there.
local rows, options = cjson.decode(ARGV[1]), cjson.decode(ARGV[4])
local life, now, refused = tonumber(ARGV[2]), tonumber(ARGV[3]), 0
-- Stages of a message, before its id in smsc:seen.
local BEFORE, ENDED = 'b', 'e'

local function try(...)
  local answer = redis.pcall(...)
  if type(answer) == 'table' and answer.err then
    if not string.find(answer.err, 'WRONGTYPE', 1, true) then error(answer.err, 0) end
    refused = refused + 1
    return nil
  end
  return answer
end

local function set(key, value)
  local kind = redis.call('TYPE', key).ok
  if kind == 'none' or kind == 'string' then redis.call('SET', key, value) else refused = refused + 1 end
end

local function keep(key)
  if life > 0 then try('PEXPIRE', key, life) end
end

local function put(key, fields)
  for name, value in pairs(fields) do try('HSET', key, name, value) end
  keep(key)
end

-- What a message's own key is: 'hash', also where there is none yet, or 'string', which a program wrote and which stays
-- as it is; nil for any other type.
local function kind_of(own)
  local kind = redis.call('TYPE', own).ok
  if kind == 'hash' or kind == 'none' then return 'hash' end
  if kind == 'string' then return 'string' end
  refused = refused + 1
end

local function above(key, least)
  local known = try('GET', key)
  if known == nil then return end
  known = known or '0'
  if #known < #least or (#known == #least and known < least) then redis.call('SET', key, least) end
end

-- Builds that make no aliases keep the ids of programs apart from their own ones.
local function raise_counter()
  if not options.aliases then above('MT-gid', options.least_gid) end
end

-- The id of a message on the platform, and its stage if it was seen before: what the message says, what it had before,
-- or the next one of the counter. Lua has no integers of this size, so it is read as text.
local function id_of(row)
  local known = try('GET', 'smsc:seen:' .. row.message)
  local stage = known and string.sub(known, 1, 1) or nil
  if row.id then return row.id, stage end
  if known then return string.sub(known, 2), stage end
  if row.mo or not options.aliases or redis.call('EXISTS', 'MT:' .. row.message) == 1 then return row.message end
  local made = redis.pcall('INCR', 'MT-gid')
  if type(made) == 'table' then
    refused = refused + 1
    return row.message
  end
  return redis.call('GET', 'MT-gid')
end

-- Remembers a message for longer than its event may come again, whatever the pump does with its keys, and which message
-- an alias stands for.
local function remember(row, stage, id)
  local key, long = 'smsc:seen:' .. row.message, life
  if stage == ENDED and (life == 0 or life > options.repeats) then long = options.repeats end
  redis.call('SET', key, stage .. id)
  if long > 0 then redis.call('PEXPIRE', key, long) end
  if id ~= row.message and not row.mo then
    redis.call('SET', 'smsc:message:' .. id, row.message)
    keep('smsc:message:' .. id)
  end
end

-- A build that does not remember messages has left only its field.
local function has_ended(own, kind, stage)
  return stage == ENDED or (kind == 'hash' and try('HEXISTS', own, 'finished') == 1)
end

local function sent(id, row)
  set('MT-seqno:' .. id, row.seqno)
  set('MT-ts:' .. id, row.ts)
  keep('MT-seqno:' .. id)
  keep('MT-ts:' .. id)
  for _, part in ipairs(row.parts or { { row.seqno, row.ts } }) do
    local submit = 'Submit:' .. part[1] .. ':' .. part[2]
    set(submit, id)
    keep(submit)
    if row.parts then
      try('SADD', 'smsc:submits:' .. id, submit)
      keep('smsc:submits:' .. id)
    end
  end
end

-- A message of a handset is there.
local function arrived(id)
  above('mo-gid', id)
  try('LPUSH', 'list:MO-ID', id)
end

-- The pump may take an id.
local function finish(id)
  try('LPUSH', 'list:Finish', id)
  try('ZADD', 'smsc:finish', now, id)
end

-- Removes all keys of an id.
local function forget(id)
  local seqno, ts = try('GET', 'MT-seqno:' .. id), try('GET', 'MT-ts:' .. id)
  if seqno and ts then redis.call('DEL', 'Submit:' .. seqno .. ':' .. ts) end
  for _, submit in ipairs(try('SMEMBERS', 'smsc:submits:' .. id) or {}) do redis.call('DEL', submit) end
  for _, kind in ipairs({ 'MT:', 'Mo:', 'MT-seqno:', 'MT-ts:', 'Report:', 'Submit-Failed:', 'smsc:submits:' }) do
    redis.call('DEL', kind .. id)
  end
  for _, name in ipairs({ 'submited', 'Response-succ', 'Response-fail' }) do try('SREM', 'set:' .. name, id) end
  for _, name in ipairs({ 'mirrored', 'handed', 'finish', 'taken' }) do try('ZREM', 'smsc:' .. name, id) end
end

-- Takes entries off the old end of a list that stand for nothing any more.
local function shorten(list, ...)
  for _ = 1, options.most do
    local id = try('LINDEX', list, -1)
    if not id then return end
    local keys = {}
    for at, head in ipairs({ ... }) do keys[at] = head .. id end
    if try('EXISTS', unpack(keys)) ~= 0 then return end
    try('RPOP', list)
  end
end
