-- What wrk posts for scripts/bench-http: messages to numbers that follow each other.
-- BATCH: recipients of a request; SHAPE: "numbers" (one text for all) or "messages" (each its own).

local batch = tonumber(os.getenv("BATCH"))
local each = os.getenv("SHAPE") == "messages"
local text = string.rep("x", 60)
local number = 447700900000

wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer " .. os.getenv("KEY")

local function message(to)
  return '{"to":' .. to .. ',"from":"12345","text":"' .. text .. '"}'
end

local function next_number()
  number = number + 1
  if number == 447700999999 then number = 447700900000 end
  return '"' .. number .. '"'
end

function request()
  if batch == 1 then return wrk.format(nil, nil, nil, message(next_number())) end
  local list = {}
  for at = 1, batch do
    list[at] = each and message(next_number()) or next_number()
  end
  local all = table.concat(list, ",")
  local body = each and '{"messages":[' .. all .. "]}" or message("[" .. all .. "]")
  return wrk.format(nil, nil, nil, body)
end

-- Refusals would look like speed.
local threads = {}
function setup(thread) table.insert(threads, thread) end
function init() refused = 0 end
function response(status) if status ~= 202 then refused = refused + 1 end end

function done(summary, latency)
  local sum = 0
  for _, thread in ipairs(threads) do sum = sum + thread:get("refused") end
  io.stderr:write(string.format(
    '{"requests": %d, "seconds": %f, "refused": %d, "p50": %f, "p99": %f}\n',
    summary.requests, summary.duration / 1e6, sum,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
