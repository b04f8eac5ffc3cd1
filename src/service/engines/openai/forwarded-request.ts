import { askedTokens } from '../../tokens/asked-tokens.ts'
import type { ChatCall } from '../engine.ts'

export interface Forwarding {
  stream: boolean
  /** The name under which the engine takes the limit of an answer's tokens. */
  lengthMember: 'max_tokens' | 'max_completion_tokens'
}

/** Words that, anywhere in a member's name, make it an address, a key or a header of the call itself. */
const callWords =
  /url|apibase|apikey|apiversion|apitype|header|proxy|credential|secret|password|authorization|endpoint|hostname|webhook|callback|extrabody|extraquery|defaultquery|timeout|retries|httpclient|certificate|sslverify/

/** Providers' own settings of gateways, and of engines that fetch from each other. */
const providerWords =
  /^(aws|azure|vertex|gcp|bedrock|litellm|customllm|organization|project|region|kvtransfer|mockresponse)/

/** What would run a model or a tool that was not priced, or lift the limit of the answer that was held. */
const unpriced = new Set([
  'models',
  'fallbacks',
  'route',
  'provider',
  'providers',
  'plugins',
  'websearchoptions',
  'bestof',
  'maxtokens',
  'maxcompletiontokens',
  'maxnewtokens',
  'maxoutputtokens',
  'npredict',
  'numpredict',
  'mintokens',
  'servicetier',
  'priority',
  'promptlogprobs',
  'modalities',
  'audio',
  'prediction',
  'documents',
  'mmprocessorkwargs',
  'mediaiokwargs',
])

/** Searches that a provider bills by the piece, whatever its name for them. */
const searchWords = /search/

/** Ours, and what OpenAI would keep: the caller agreed to neither. */
const kept = new Set(['serviceparameters', 'user', 'store', 'metadata', 'streamoptions', 'stream', 'model'])

/** Members pass to the engine as they are, unknown ones too, unless they could choose its URL, key, headers or price. */
export function forwardedRequest(call: ChatCall, { stream, lengthMember }: Forwarding): Record<string, unknown> {
  const { request, engineModel, maxCompletionTokens } = call
  const passed = Object.entries(request).filter(([name, value]) => value !== undefined && mayPass(name))
  const each = Math.max(1, Math.floor(maxCompletionTokens / (request.n ?? 1)))
  return {
    ...Object.fromEntries(passed),
    model: engineModel,
    [lengthMember]: Math.min(each, askedTokens(request) ?? each),
    stream,
    ...(stream ? { stream_options: { include_usage: true } } : {}),
  }
}

function mayPass(name: string): boolean {
  const plain = name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
  return (
    plain !== '' &&
    !kept.has(plain) &&
    !unpriced.has(plain) &&
    !searchWords.test(plain) &&
    !callWords.test(plain) &&
    !providerWords.test(plain)
  )
}
