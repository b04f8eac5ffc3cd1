import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { postJson } from '../kit/api.ts'
import { DialogForm, RefusedNote } from '../kit/dialog.tsx'
import { count } from '../kit/format.ts'
import { Waiting } from '../kit/list.tsx'
import { said } from '../kit/sections.tsx'
import { type Column, nothing, Table } from '../kit/table.tsx'
import type { ModelRow, ModelTried } from './models-wire.ts'
import { milliseconds, useLive } from './operator.ts'
import { may } from './session.ts'

const healthEveryMs = 3_000
const health = { up: 'badge good', trial: 'badge', down: 'badge bad' } as const

/** An upstream of a model. */
interface Engine {
  model: string
  upstream: string
}

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
  const tried = useSignal<Engine | null>(null)
  const shown = models.value.value
  if (!shown) return <Waiting problem={models.problem.value} />
  const open = tried.value
  const engines: Column<ModelRow> = {
    name: 'Engines',
    show: row => <Upstreams row={row} begin={upstream => (tried.value = { model: row.model, upstream })} />,
  }
  return (
    <>
      <RefusedNote refused={models.problem.value} />
      <p class="quiet">Figures for this process, since it started or its upstreams changed.</p>
      <Table
        caption="Models and their engines"
        columns={[...columns, engines]}
        rows={shown}
        keyOf={({ model, type }) => `${type} ${model}`}
        empty="There are no models."
      />
      {open && <TryDialog engine={open} close={() => (tried.value = null)} />}
    </>
  )
}

function Upstreams({ row, begin }: { row: ModelRow; begin(upstream: string): void }): JSX.Element {
  const { model, upstreams, isTriable } = row
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
            <button type="button" class="small" aria-label={`Try ${name} of ${model}`} onClick={() => begin(name)}>
              Try
            </button>
          )}
        </span>
      ))}
    </>
  )
}

/** Sends one small probe, which may cost the operator money. */
function TryDialog({ engine: { model, upstream }, close }: { engine: Engine; close(): void }): JSX.Element {
  const probe = async () => {
    const { outcome, tookMs, said: words } = await postJson<ModelTried>('/api/models/try', { model, upstream })
    said.value = `${upstream} of ${model}: ${outcome} after ${milliseconds(tookMs)}. ${words}`
  }
  return (
    <DialogForm title={`Try ${upstream} of ${model}`} action="Send one probe" submit={probe} close={close}>
      <p>
        The service sends one request of a few tokens to this engine. No customer is charged. If the engine is one that
        you pay for, its provider charges you for those tokens.
      </p>
      <p class="quiet">It waits 20 seconds at most, and is written to the audit log.</p>
    </DialogForm>
  )
}
