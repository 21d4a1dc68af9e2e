#!/bin/sh
# One turn of /chat with curl: prints the stream as it comes, and attaches again when it is cut.
#
#   TOKEN=<JWT> docs/examples/chat.sh http://127.0.0.1:8000 '{"message": "What is an event log?"}'
#
# The token goes to curl on its standard input, so that it stands in no list of processes.
set -eu
url=$1 body=$2
stream=$(mktemp)
trap 'rm -f "$stream" "$stream.status"' EXIT
key=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')

turn() {
  {
    printf 'header = "Authorization: Bearer %s"\n' "$TOKEN" |
      curl -N -sS --fail-with-body --config - -H "Accept: text/event-stream" "$@" || echo $? >"$stream.status"
  } | tee -a "$stream"
  if [ "$(cat "$stream.status" 2>/dev/null)" = 22 ]; then
    echo >&2
    exit 22 # refused, and why was printed: it will be refused again
  fi
}

# The key makes sending it again harmless: as long as no id has come, that is how to attach.
tries=0
until grep -q '^event: turn_completed' "$stream"; do
  tries=$((tries + 1))
  if [ "$tries" -gt 20 ]; then
    echo "chat.sh: no end after 20 attempts" >&2
    exit 1
  fi
  [ "$tries" -eq 1 ] || sleep 1
  last=$(sed -n 's/^id: //p' "$stream" | tail -n 1)
  if [ -n "$last" ]; then
    turn -H "Last-Event-ID: $last" "$url/chat/runs/${last%%:*}/events"
  else
    turn -H "Content-Type: application/json" -H "Idempotency-Key: $key" --data "$body" "$url/chat"
  fi
done
