-- ARGV: the last of the lists list:Pending-<n>, how many ids at most, the longest id and the longest field, the octets of
-- an answer, the most dead letters, about. Ids that were given before and not settled come first. Answers with the ids,
-- each with its fields, or with MT:<id> and a mark where that is a string; alone if MT:<id> is of another type, with the name of a
-- field that is too long; with the names of those lists that are none, and with how many entries became dead letters.
-- Entries that are too long for an id become dead letters here, because they may be too long to be given, too.
local lists, most, longest_id, longest, room = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local ids, none, all, buried = {}, {}, {}, 0
local function add(id)
  if #id <= longest_id then
    ids[#ids + 1] = id
    return
  end
  redis.call('XADD', 'smsc:dead-letters', 'MAXLEN', '~', ARGV[6], '*', 'entry', string.sub(id, 1, longest_id), 'reason',
    'the entry has ' .. #id .. ' octets; an id has 40 at most')
  redis.call('LREM', 'list:Processing', 0, id)
  buried = buried + 1
end
for _, id in ipairs(redis.call('LRANGE', 'list:Processing', 0, most - 1)) do add(id) end
for list = 0, lists do
  local name = 'list:Pending-' .. list
  local kind = redis.call('TYPE', name).ok
  if kind == 'list' then
    while #ids < most do
      local id = redis.call('RPOPLPUSH', name, 'list:Processing')
      if not id then break end
      add(id)
    end
  elseif kind ~= 'none' then
    none[#none + 1] = name
  end
end
local function look(id)
  local own, size = 'MT:' .. id, #id
  local kind = redis.call('TYPE', own).ok
  if kind == 'string' then
    size = size + redis.call('STRLEN', own)
    if size > longest then return { id, 'the text' }, #id end
    return { id, redis.call('GET', own), 'string' }, size
  end
  if kind ~= 'hash' and kind ~= 'none' then return { id }, size end
  for _, field in ipairs({ 'from', 'to', 'text' }) do
    local length = redis.call('HSTRLEN', own, field)
    if length > longest then return { id, field }, size end
    size = size + length
  end
  local row = { id }
  for at, value in ipairs(redis.call('HMGET', own, 'from', 'to', 'text')) do row[at + 1] = value or '' end
  return row, size
end
for _, id in ipairs(ids) do
  local row, size = look(id)
  all[#all + 1] = row
  room = room - size
  -- The others are given the next time.
  if room <= 0 then break end
end
return { all, none, buried }
