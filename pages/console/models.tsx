import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import { postJson } from '../kit/api.ts'
import { DialogForm, RefusedNote } from '../kit/dialog.tsx'
import { count } from '../kit/format.ts'
import { Waiting } from '../kit/list.tsx'
import { said } from '../kit/sections.tsx'
import { type Column, nothing, Table } from '../kit/table.tsx'
import { may, milliseconds, useLive } from './operator.ts'
import type { ModelRow, ModelTried } from './wire.ts'

const healthEveryMs = 3_000
const health = { up: 'badge good', trial: 'badge', down: 'badge bad' } as const

/** An upstream of a model. */
interface Engine {
  model: string
  type: string
  upstream: string
}

/** An engine that was tried, and what it made. */
type Tried = Engine & Pick<ModelTried, 'made'>

const columns: readonly Column<ModelRow>[] = [
  {
    name: 'Model',
    show: ({ model, isOff }) => (
      <>
        {model} {isOff && <span class="badge">off</span>}
      </>
    ),
  },
  { name: 'Type', show: ({ type }) => type },
  {
    name: 'Price',
    show: ({ prices }) =>
      prices.length === 0
        ? nothing
        : prices.map(price => (
            <span key={price} class="block">
              {price}
            </span>
          )),
  },
  {
    name: 'Waiting',
    isNumber: true,
    show: ({ waiting, queue }) => (
      <>
        {count(waiting)}
        {queue && (
          <span class="quiet block">
            of {count(queue.length)}, for {milliseconds(queue.waitMs)} at most
          </span>
        )}
      </>
    ),
  },
]

/** Models, their prices, and the health of their engines. */
export function ModelsPage(): JSX.Element {
  const models = useLive(() => postJson<ModelRow[]>('/api/models', {}), '', healthEveryMs)
  const trying = useSignal<Engine | null>(null)
  const tried = useSignal<Tried | null>(null)
  const shown = models.value.value
  if (!shown) return <Waiting problem={models.problem.value} />
  const open = trying.value
  const engines: Column<ModelRow> = {
    name: 'Engines',
    show: row => <Upstreams row={row} begin={engine => (trying.value = engine)} />,
  }
  return (
    <>
      <RefusedNote refused={models.problem.value} />
      <p class="quiet">
        Health and figures of the process that answered, since it started or its upstreams changed. With several
        workers, each has its own, and any of them may answer.
      </p>
      {tried.value && <Made key={tried.value.made?.base64} tried={tried.value} />}
      <Table
        caption="Models and their engines"
        columns={[...columns, engines]}
        rows={shown}
        keyOf={({ model, type }) => `${type} ${model}`}
        empty="There are no models."
      />
      {may('owner') && (
        <p class="quiet">
          Video and music cannot be tried here, because each call takes minutes and costs as much as a customer’s. Nor
          can models that need a file, such as an image to edit. To test one, call it with an API key of your own.
        </p>
      )}
      {open && <TryDialog engine={open} show={made => (tried.value = made)} close={() => (trying.value = null)} />}
    </>
  )
}

function Upstreams({ row, begin }: { row: ModelRow; begin(engine: Engine): void }): JSX.Element {
  const { model, type, upstreams, isTriable } = row
  if (upstreams.length === 0) return <span class="quiet">in this process</span>
  const shares = upstreams.reduce((sum, { weight }) => sum + weight, 0)
  return (
    <>
      {upstreams.map(({ name, weight, concurrency, state, running, calls, failures }) => (
        <span key={name} class="block">
          {name} <span class={health[state]}>{state}</span> {count(running)} of {count(concurrency)} running,{' '}
          {upstreams.length > 1 && `${Math.round((100 * weight) / shares)} % of the calls, `}
          {count(calls)} calls, {count(failures)} failed{' '}
          {isTriable && may('owner') && (
            <button
              type="button"
              class="small"
              aria-label={`Try ${name} of ${model}`}
              onClick={() => begin({ model, type, upstream: name })}
            >
              Try
            </button>
          )}
        </span>
      ))}
    </>
  )
}

/** What a trial consists of, by type; a model of text gets a prompt of a few words. */
const trials: Readonly<Record<string, string>> = {
  image: 'one request for an image of an apple',
  tts: 'one request to speak four words',
}

interface TryDialogProps {
  engine: Engine
  show(tried: Tried): void
  close(): void
}

/** Sends one small call, which may cost the operator money. */
function TryDialog({ engine, show, close }: TryDialogProps): JSX.Element {
  const { model, upstream, type } = engine
  const send = async () => {
    const tried = await postJson<ModelTried>('/api/models/try', { model, upstream })
    said.value = `${upstream} of ${model}: ${tried.outcome} after ${milliseconds(tried.tookMs)}. ${tried.said}`
    show({ ...engine, made: tried.made })
  }
  return (
    <DialogForm title={`Try ${upstream} of ${model}`} action="Send one request" submit={send} close={close}>
      <p>
        The service sends {trials[type] ?? 'one request of a few tokens'} to this engine. No customer is charged. If you
        pay a provider for this engine, the provider charges you.
      </p>
      <p class="quiet">It waits {type in trials ? 60 : 20} seconds at most, and is written to the audit log.</p>
    </DialogForm>
  )
}

/** The image or the speech of a trial. Only this page has it; it is gone when the page is left. */
function Made({ tried: { model, upstream, made } }: { tried: Tried }): JSX.Element | null {
  const url = useMemo(() => (made ? URL.createObjectURL(blobOf(made)) : null), [made])
  useEffect(() => () => (url ? URL.revokeObjectURL(url) : undefined), [url])
  if (!made || !url) return null
  const title = `Made by ${upstream} of ${model}`
  return (
    <figure class="made">
      {made.type.startsWith('image/') ? (
        <img src={url} alt={title} />
      ) : (
        // biome-ignore lint/a11y/useMediaCaption: The words are in the caption below.
        <audio src={url} controls aria-label={title} />
      )}
      <figcaption class="quiet">
        {title}
        {made.type.startsWith('audio/') && ': “This is a test.”'}
      </figcaption>
    </figure>
  )
}

const blobOf = ({ type, base64 }: NonNullable<ModelTried['made']>): Blob =>
  new Blob([Uint8Array.from(atob(base64), letter => letter.charCodeAt(0))], { type })
