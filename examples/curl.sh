#!/bin/sh
# Any program that takes a base URL: here curl, through `farebox proxy`, which pays from the wallet.
# In another terminal: farebox proxy      and here the two lines that it prints.
set -eu
: "${OPENAI_BASE_URL:?Run \`farebox proxy\` and set what it prints.}" "${OPENAI_API_KEY:?}"

curl --fail-with-body --silent --show-error "$OPENAI_BASE_URL/chat/completions" \
  --header "Authorization: Bearer $OPENAI_API_KEY" \
  --header 'Content-Type: application/json' \
  --data '{"model":"demo-chat","messages":[{"role":"user","content":"Say something about the sea."}],"max_tokens":60}'
echo
