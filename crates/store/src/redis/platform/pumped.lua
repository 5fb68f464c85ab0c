-- Removes the keys of ids that the pump has taken. Answers with how many, and with how many writes were refused.
--
-- ARGV[2] is how long keys stay after their id was taken: a pump takes an id first, and then reads its keys. An id whose
-- own key the pump has removed itself is done with. What the platform's forwarder has is in no list while it posts it; so
-- only what was seen in list:Finish counts as taken.
local count, most = 0, options.most
local length = try('LLEN', 'list:Finish') or 0
local in_list = {}
for _, id in ipairs(try('LRANGE', 'list:Finish', -options.searched, -1) or {}) do
  in_list[id] = true
  if try('ZREM', 'smsc:handed', id) == 1 then try('ZADD', 'smsc:finish', now, id) end
end

local function is_gone(id)
  return redis.call('EXISTS', 'MT:' .. id, 'Mo:' .. id) == 0
end

for _, id in ipairs(try('ZRANGE', 'smsc:handed', 0, most - 1) or {}) do
  if is_gone(id) then
    forget(id)
    count = count + 1
  else
    -- The others have their turn first.
    try('ZADD', 'smsc:handed', now, id)
  end
end
-- Of a list that is too long to be read, what is older than its oldest entry was taken.
local oldest
if length > options.searched then oldest = tonumber(try('ZSCORE', 'smsc:finish', try('LINDEX', 'list:Finish', -1)) or 0) end
local finished = try('ZRANGE', 'smsc:finish', 0, most - 1, 'WITHSCORES') or {}
for at = 1, #finished, 2 do
  local id = finished[at]
  if oldest and tonumber(finished[at + 1]) >= oldest then break end
  if not in_list[id] then
    try('ZREM', 'smsc:finish', id)
    try('ZADD', 'smsc:taken', now, id)
  end
end
for _, id in ipairs(try('ZRANGEBYSCORE', 'smsc:taken', '-inf', now - life, 'LIMIT', 0, most) or {}) do
  forget(id)
  count = count + 1
end
return { count, refused }
