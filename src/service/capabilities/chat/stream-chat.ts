import { inferenceFailed } from '#contract/errors/errors.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import type { ChatCompletionChunk } from '#contract/operations/chat.ts'
import type { ServiceParametersEcho } from '#contract/operations/service-parameters.ts'
import { ownBoundOf } from '#engines/http/upstream-error.ts'
import { TextChunk, wholeChunk } from '#engines/ports/text-chunk.ts'
import type { DirectReader } from '#host/pulled-body.ts'
import type { Charge } from '#ledger/charges/charge.ts'
import { type Cost, printedCost } from '#ledger/charges/charge-order.ts'
import { type Metered, streamWithCharge } from '#ledger/charges/charges.ts'
import type { Call, EventsReply } from '../../http/route.ts'
import { tellRemaining } from '../../http/sell.ts'
import type { Service } from '../../http/service.ts'
import { type ChatPlan, engineCall } from './chat-plan.ts'
import { limitedTokens, StreamUsage } from './chat-usage.ts'
import { type PreparedChat, prepareChat } from './chat-web.ts'
import { EngineRun, failureError, isRefused, refusalError, type StreamError } from './engine-run.ts'
import { behindDocuments, documentsDelta, echoWith, ThinkingStripper, withoutReasoning } from './shown-answer.ts'
import { StreamCredit } from './stream-credit.ts'

/** Streams an answer; see `StreamUsage` for how it is charged. */
export async function streamChat(call: Call, plan: ChatPlan, service: Service): Promise<EventsReply> {
  let directReader: DirectReader<TextChunk> | null = null
  const { charge, events } = await streamWithCharge(service.charges, plan.order, call.signal, open =>
    meteredChat({ call, plan, charge: open, reader: () => directReader }, service),
  )
  tellRemaining(call, charge.heldAvailableMicroUsd)
  const lastEventOf = (error: unknown): unknown => {
    if (error === charge.stopped) return failedEvent(error)
    // With a key, a partial answer must not look complete, because another process may have the rest or a repeat will
    // bring it.
    if (call.signal.aborted || call.hasKey) throw error
    if (!(error instanceof ServiceError))
      service.log.error({ requestId: call.requestId, err: error }, 'A stream could not be ended properly.')
    return failedEvent(error)
  }
  const whole = await startOf(events, { lastEventOf, endsWithWork: call.hasKey })
  const sendDirectlyTo = (reader: DirectReader<TextChunk>) => {
    directReader = reader
  }
  return { kind: 'events', events: whole, brokenOff: () => [failedEvent(null)], sendDirectlyTo }
}

const failedEvent = (error: unknown) => ({
  choices: [{ index: 0, delta: {}, finish_reason: 'error' }],
  error: failureError(error),
})

interface Breaking {
  /** Returns the last event, which reports this error to the reader. Throws the error if the reader must not be told. */
  lastEventOf(error: unknown): unknown
  /** The end waits for the work behind the events, because only then it is known what is stored for a key. */
  endsWithWork: boolean
}

/**
 * Waits for the first event, so that an engine that fails before it is answered with an error status. A later failure,
 * such as a charge that cannot be written, becomes the last event.
 */
async function startOf(
  events: AsyncIterableIterator<unknown>,
  { lastEventOf, endsWithWork }: Breaking,
): Promise<AsyncIterableIterator<unknown>> {
  const workEnded = async () => {
    if (endsWithWork) await events.return?.()
  }
  let first: IteratorResult<unknown> | null = await events.next().catch(async error => {
    await workEnded()
    throw error
  })
  let isBroken = false
  const whole: AsyncIterableIterator<unknown> = {
    next() {
      const step = first
      first = null
      if (step) return Promise.resolve(step)
      if (isBroken) return workEnded().then(() => ({ done: true, value: undefined }))
      return events.next().catch(error => {
        const value = lastEventOf(error)
        isBroken = true
        return { done: false, value }
      })
    },
    async return() {
      if (!isBroken) await events.return?.()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]: () => whole,
  }
  return whole
}

interface Streaming {
  call: Call
  plan: ChatPlan
  charge: Charge
  streamUsage: StreamUsage
  run: EngineRun
  credit: StreamCredit
  /** As planned until the engine is called. */
  prepared: PreparedChat
  /** The last chunk that was sent. */
  last: ChatCompletionChunk | null
  /** Null while all chunks must pass through the iterator. */
  reader(): DirectReader<TextChunk> | null
}

type BegunStream = Pick<Streaming, 'call' | 'plan' | 'charge' | 'reader'>

function meteredChat({ call, plan, charge, reader }: BegunStream, service: Service): Metered<unknown> {
  const streamUsage = new StreamUsage(plan, service.clock)
  const prepared: PreparedChat = { request: plan.request, echo: plan.options.echo, sources: [], lines: [] }
  const prepare = async (signal: AbortSignal) => {
    streamUsage.prepared(Object.assign(prepared, await prepareChat(plan, { fetcher: call.fetcher, signal }, service)))
    return { ...engineCall(plan, prepared.request), ...(strips(plan.options.echo) ? {} : { takeDirectly }) }
  }
  const run = new EngineRun(plan.model.engine, prepare, call.signal, call.hasKey)
  const credit = new StreamCredit(plan, charge, streamUsage)
  const streaming: Streaming = { call, plan, charge, streamUsage, run, credit, prepared, last: null, reader }
  const takeDirectly = (chunk: TextChunk) => isSentDirectly(streaming, chunk)
  charge.whenEnded(call.stay())
  return {
    events: chatEvents(streaming),
    // With a key, a repeat after a restart runs it again, so nothing is lost.
    owed: () => (run.isUnread && !call.hasKey ? streamUsage.lines(true) : streamUsage.lines()),
    leave() {
      run.leave()
      call.unread()
    },
  }
}

/** Yields the engine's chunks in the form for the caller, then their cost, or why they end early. */
async function* chatEvents(streaming: Streaming): AsyncGenerator<unknown> {
  const { call, plan, charge, streamUsage, run, credit } = streaming
  const { echo } = plan.options
  const strippers = strips(echo) ? new Map<number, ThinkingStripper>() : null
  try {
    for (let step = await run.next(); !step.done; step = await run.next()) {
      const chunk = step.value
      const isCovered = !run.left && (credit.coversAtOnce(chunk) || (await credit.covers(chunk, true)))
      if (run.left) {
        await countUnread(streaming, chunk)
        continue
      }
      if (!isCovered || charge.isLost) {
        run.drop()
        yield* brokenOff(streaming, refusalError(credit.refusal))
        return
      }
      streamUsage.read(chunk)
      if (streaming.last === null) yield* sourceEvents(streaming, chunk)
      streaming.last = chunk
      if (chunk instanceof TextChunk || chunk.choices.length)
        yield shownChunk(streaming, strippers ? strippedChunk(chunk, strippers, echo) : chunk)
    }
  } catch (error) {
    if (ownBoundOf(error)) streamUsage.leave()
    if (isRefused(error)) streamUsage.oweSources()
    if (!streamUsage.delivered || run.left) throw error
    yield* brokenOff(streaming, failureError(error))
    return
  } finally {
    await readOn(streaming)
  }
  if (run.left) return
  if (!streamUsage.hasChoice) throw inferenceFailed()
  streamUsage.complete()
  yield* ownSourceEvents(streaming)
  const lastEvents = (cost: Cost) => usageEvents(streaming, cost)
  const charged = await charge.settle(cost => call.keepStream(() => lastEvents(cost)))
  call.tokensUsed(limitedTokens(streamUsage.usage()))
  yield* lastEvents(charged)
}

const strips = (echo: ServiceParametersEcho): boolean => echo.strip_thinking_response || echo.disable_thinking

/**
 * Sends a chunk of text to its reader as soon as the engine hands it over, as almost all are sent. Returns false if it
 * must pass through the iterator: the first chunk, one that more credit or a slow reader must be waited for, and one
 * after which the stream ends early.
 */
function isSentDirectly(streaming: Streaming, chunk: TextChunk): boolean {
  const { charge, run, credit, streamUsage } = streaming
  const reader = streaming.reader()
  if (!reader?.isReady || streaming.last === null || run.left || charge.isLost) return false
  if (!credit.coversAtOnce(chunk)) return false
  streamUsage.read(chunk)
  streaming.last = chunk
  reader.send(chunk.as(streaming.plan.model.id))
  return true
}

/** Counts an unread chunk too, until the engine reports usage or exceeds the credit. */
async function countUnread({ run, streamUsage, credit }: Streaming, chunk: ChatCompletionChunk): Promise<void> {
  if (run.stopped) {
    if (chunk.usage) streamUsage.report(chunk.usage)
    return
  }
  const isCovered = await credit.covers(chunk, false)
  streamUsage.read(chunk)
  // Usage beside a piece is running usage; without a piece it is the last report, after which the engine ends the
  // stream.
  if (!isCovered || (chunk.usage && chunk.choices.length)) run.stop()
}

/** Runs if the reader left between two events; if the engine failed by itself, nothing more is needed. */
async function readOn(streaming: Streaming): Promise<void> {
  const { call, charge, streamUsage, run } = streaming
  let hasFailed = run.failed
  try {
    run.leave()
    for (let step = await run.next(); !step.done; step = await run.next()) await countUnread(streaming, step.value)
  } catch (error) {
    hasFailed = !ownBoundOf(error)
  }
  if (!run.left || (hasFailed && !run.stopped)) return
  if (!run.stopped && !run.failed) streamUsage.complete()
  // With a key, no stream ends early except when its key expires: what the engine has generated by then is kept.
  if (!call.hasKey || charge.stopped) streamUsage.leave()
  if (streamUsage.lines().length) call.tokensUsed(limitedTokens(streamUsage.usage()))
}

/**
 * Sends sources before anything else (brief §2.8). A caller who has seen them pays for them, even if the model sends
 * nothing.
 */
function* sourceEvents({ plan, streamUsage, prepared }: Streaming, first: ChatCompletionChunk): Generator<unknown> {
  const { echo, sources } = prepared
  if (!sources.length) return
  const events = [
    ...(echo.include_search_results_in_stream ? [{ choices: [], service_parameters: echo }] : []),
    ...(echo.return_search_results_as_documents ? [{ choices: [documentsDelta(sources)] }] : []),
  ]
  for (const event of events) {
    streamUsage.oweSources()
    yield { ...publicChunk(plan, first), ...event }
  }
}

/** Sends what the engine itself found, which it may report only at the end. */
function* ownSourceEvents({ plan, streamUsage, prepared: { echo }, last }: Streaming): Generator<unknown> {
  if (!last || !echo.include_search_results_in_stream || !streamUsage.ownSources.length) return
  yield { ...publicChunk(plan, last), choices: [], service_parameters: echoWith(echo, streamUsage.ownSources) }
}

function shownChunk({ plan, prepared }: Streaming, chunk: ChatCompletionChunk): ChatCompletionChunk {
  const { echo, sources } = prepared
  const isBehind = echo.return_search_results_as_documents && sources.length > 0
  if (chunk instanceof TextChunk) return chunk.as(plan.model.id)
  return publicChunk(plan, isBehind ? behindDocuments(chunk) : chunk)
}

/** The status was already sent, so the stream itself tells the client why it ends (published contract §5.3). */
async function* brokenOff(
  { call, plan, charge, streamUsage, last }: Streaming,
  error: StreamError,
): AsyncGenerator<unknown> {
  const end = { index: 0, delta: {}, finish_reason: 'error' }
  const event = { ...(last && publicChunk(plan, last)), choices: [end], error }
  // If nothing was delivered, nothing is charged, and the same key may be used again once there is credit.
  await charge.settle(streamUsage.delivered ? () => call.keepStream(() => [event]) : undefined)
  call.tokensUsed(limitedTokens(streamUsage.usage()))
  yield event
}

/** Returns the usage after the last piece of content, if the caller asked for it. */
function usageEvents({ plan, streamUsage, prepared, last }: Streaming, cost: Cost): readonly unknown[] {
  if (!last || !plan.request.stream_options?.include_usage) return []
  const said = {
    usage: streamUsage.usage(),
    cost: printedCost(cost),
    service_parameters: echoWith(prepared.echo, streamUsage.ownSources),
  }
  return [{ ...publicChunk(plan, last), choices: [], ...said }]
}

function publicChunk(plan: ChatPlan, chunk: ChatCompletionChunk): ChatCompletionChunk {
  const { usage: _usage, ...rest } = wholeChunk(chunk)
  return { ...rest, model: plan.model.id }
}

function strippedChunk(
  chunk: ChatCompletionChunk,
  strippers: Map<number, ThinkingStripper>,
  { disable_thinking: isOff }: ServiceParametersEcho,
): ChatCompletionChunk {
  const choices = chunk.choices.map(choice => {
    const stripper = strippers.get(choice.index) ?? new ThinkingStripper()
    strippers.set(choice.index, stripper)
    const delta = isOff ? withoutReasoning(choice.delta) : choice.delta
    const shown = delta.content ? stripper.push(delta.content) : ''
    const content = choice.finish_reason ? shown + stripper.end() : shown
    if (delta === choice.delta && content === (delta.content ?? '')) return choice
    const { logprobs: _of, ...rest } = choice
    return { ...rest, delta: delta.content || content ? { ...delta, content } : delta }
  })
  return { ...wholeChunk(chunk), choices }
}
