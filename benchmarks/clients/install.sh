#!/bin/sh
# Install the clients into $LAB (default /tmp/shaping-lab): npm ones into npm/NAME, Python ones into venv/NAME; about 3 GB.
# Names of clients as arguments install only those.
set -eu
LAB=${LAB:-/tmp/shaping-lab}
mkdir -p "$LAB/npm" "$LAB/venv"
wanted() { [ -z "$ONLY" ] || case " $ONLY " in *" $1 "*) ;; *) return 1 ;; esac; }
npm_one() { if wanted "$1"; then mkdir -p "$LAB/npm/$1"; npm install --silent --no-audit --no-fund --prefix "$LAB/npm/$1" "$2"; fi; }
py_one() { name=$1; shift; if wanted "$name"; then python3 -m venv "$LAB/venv/$name"; "$LAB/venv/$name/bin/python" -m pip install --quiet "$@"; fi; }
ONLY="$*"

npm install --silent --no-audit --no-fund --prefix "$LAB/node" node@24
npm_one codex @openai/codex@0.166.0
npm_one claude @anthropic-ai/claude-code@2.1.325
npm_one gemini @google/gemini-cli@0.61.0
npm_one qwen @qwen-code/qwen-code@0.24.4
npm_one opencode opencode-ai@1.18.33
npm_one kilo @kilocode/cli-linux-x64
npm_one cline cline@3.0.65
npm_one continue @continuedev/cli@1.5.47
npm_one copilot @github/copilot@1.0.102
npm_one kimi @moonshot-ai/kimi-code@2.1.0
npm_one goose @aaif/goose-binary-linux-x64@1.52.0

py_one mistral-vibe mistral-vibe
py_one hermes-agent 'hermes-agent[mcp]==0.19.0'
py_one openhands openhands==1.16.0
py_one openai-agents openai-agents==0.24.0
py_one pydantic-ai 'pydantic-ai-slim[openai,mcp]==2.66.0'
py_one langchain langchain-mcp-adapters==0.3.2 langchain langchain-openai
py_one strands 'strands-agents[openai]==1.62.0'
py_one agent-framework agent-framework-core==1.23.0 agent-framework-openai mcp tenacity
py_one agno agno==3.1.10 openai mcp 'fastmcp>=4,<5'
py_one google-adk 'google-adk[mcp]==2.13.0' mcp
py_one crewai 'crewai[mcp]==1.15.30' mcp openai
