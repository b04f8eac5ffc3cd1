#!/bin/sh
# Any program that takes a base URL, here curl, pays from the wallet through `farebox proxy`.
# Run `farebox proxy` in another terminal, and set the two variables that it prints in this one.
set -eu
: "${OPENAI_BASE_URL:?Run \`farebox proxy\` and set what it prints.}" "${OPENAI_API_KEY:?}"

curl --fail-with-body --silent --show-error "$OPENAI_BASE_URL/chat/completions" \
  --header "Authorization: Bearer $OPENAI_API_KEY" \
  --header 'Content-Type: application/json' \
  --data '{"model":"demo-chat","messages":[{"role":"user","content":"Say something about the sea."}],"max_tokens":60}'
echo
