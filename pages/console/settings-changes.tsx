import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { postJson, RefusedError } from '../kit/api.ts'
import { DialogForm, Options } from '../kit/dialog.tsx'
import { count } from '../kit/format.ts'
import { said } from '../kit/sections.tsx'
import { nothing, Table } from '../kit/table.tsx'
import {
  type LimitSetting,
  limitScopes,
  type Notice,
  type PriceSetting,
  planNames,
  type SettingsChange,
  type SettingsDraft,
  type SettingsEdits,
} from './wire.ts'

type ModelSetting = SettingsEdits['models'][number]
/** Which dialog is open. */
type Open = { model: ModelSetting } | { limit: LimitSetting | null } | { plan: SettingsEdits['plan'] }

interface ChangeSettingsProps {
  edits: SettingsEdits
  done(): Promise<void>
}

/** Prices, limits and the models on sale, with a dialog to change each, and one that shows what it would write. */
export function ChangeSettings({ edits, done }: ChangeSettingsProps): JSX.Element {
  const open = useSignal<Open | null>(null)
  const drafted = useSignal<{ changes: readonly SettingsChange[]; diff: readonly string[] } | null>(null)
  const { version, models, limits, plan } = edits
  // The draft is requested while the first dialog is open, so that the dialog shows any error.
  const review = async (changes: readonly SettingsChange[]) => {
    if (changes.length === 0)
      throw new RefusedError(0, { happened: 'Nothing was changed.', next: 'Change a value first.' })
    const { diff } = await postJson<SettingsDraft>('/api/settings/draft', { version, changes })
    drafted.value = { changes, diff }
  }
  const shown = open.value
  const close = () => {
    open.value = null
  }
  return (
    <>
      <h2>Models and prices</h2>
      <ModelTable models={models} change={model => (open.value = { model })} />
      <h2>Limits</h2>
      <p class="controls">
        The plan for customers without a plan of their own: <strong>{plan}</strong>
        <button type="button" onClick={() => (open.value = { plan })}>
          Change the plan
        </button>
      </p>
      <LimitTable limits={limits} change={limit => (open.value = { limit })} />
      <p class="controls">
        <button type="button" onClick={() => (open.value = { limit: null })}>
          Add a limit
        </button>
      </p>
      {shown && 'model' in shown && <ModelDialog model={shown.model} review={review} close={close} />}
      {shown && 'limit' in shown && <LimitDialog limit={shown.limit} edits={edits} review={review} close={close} />}
      {shown && 'plan' in shown && <PlanDialog plan={shown.plan} review={review} close={close} />}
      {!shown && drafted.value && (
        <ReviewDialog version={version} {...drafted.value} done={done} close={() => (drafted.value = null)} />
      )}
    </>
  )
}

interface ModelTableProps {
  models: readonly ModelSetting[]
  change(model: ModelSetting): void
}

const ModelTable = ({ models, change }: ModelTableProps): JSX.Element => (
  <Table
    caption="Models and prices"
    columns={[
      { name: 'Model', show: ({ model }) => model },
      { name: 'Type', show: ({ type }) => type },
      { name: 'Sold', show: ({ isOn }) => <span class={isOn ? 'badge good' : 'badge'}>{isOn ? 'on' : 'off'}</span> },
      {
        name: 'Price in USD',
        show: ({ prices }) =>
          prices
            .filter(({ usd }) => usd !== null)
            .map(({ name, usd }) => (
              <span key={name} class="block">
                {name} {usd}
              </span>
            )),
      },
      {
        name: 'Action',
        show: each => (
          <button type="button" aria-label={`Change ${each.model}`} onClick={() => change(each)}>
            Change
          </button>
        ),
      },
    ]}
    rows={models}
    keyOf={({ model, type }) => `${type} ${model}`}
    empty="There are no models."
  />
)

const scopes: Readonly<Record<LimitSetting['scope'], string>> = {
  types: 'each customer, for a type',
  models: 'each customer, for a model',
  apiKey: 'each key, for a type',
  global: 'all callers together, for a type',
}

const orPlan = (perMinute: number | null): string => (perMinute === null ? nothing : count(perMinute))

interface LimitTableProps {
  limits: readonly LimitSetting[]
  change(limit: LimitSetting): void
}

const LimitTable = ({ limits, change }: LimitTableProps): JSX.Element => (
  <Table
    caption="Limits in the file"
    columns={[
      { name: 'For', show: ({ scope }) => scopes[scope] },
      { name: 'Name', show: ({ name }) => name },
      { name: 'Requests per minute', isNumber: true, show: ({ requestsPerMinute }) => orPlan(requestsPerMinute) },
      { name: 'Tokens per minute', isNumber: true, show: ({ tokensPerMinute }) => orPlan(tokensPerMinute) },
      {
        name: 'Action',
        show: each => (
          <button type="button" aria-label={`Change the limit of ${each.name}`} onClick={() => change(each)}>
            Change
          </button>
        ),
      },
    ]}
    rows={limits}
    keyOf={({ scope, name }) => `${scope} ${name}`}
    empty="The file sets no limits, so those of the plan apply."
  />
)

interface DialogProps {
  review(changes: readonly SettingsChange[]): Promise<void>
  close(): void
}

const usdField = { inputMode: 'decimal', pattern: '\\d+(\\.\\d{1,12})?' } as const
const chosenName = '*'
/** The form's field with the name that stands in the place of a star. */
const nameField = (price: string): string => `name of ${price}`

/** One price, which is required, optional, or of a name to choose, such as a resolution. */
function PriceField({ price: { name, usd, isOptional } }: { price: PriceSetting }): JSX.Element {
  if (name.includes(chosenName))
    return (
      <fieldset>
        <legend>Add {name.replace(chosenName, 'NAME')}</legend>
        <label>
          NAME <input name={nameField(name)} pattern="[A-Za-z0-9][\-\w]{0,9}" placeholder="720p" />
        </label>
        <label>
          USD <input name={name} {...usdField} />
        </label>
      </fieldset>
    )
  return (
    <label>
      {name}
      {isOptional && ' (optional)'} <input name={name} required={!isOptional} {...usdField} value={usd ?? ''} />
    </label>
  )
}

function priceChanges(model: string, { name, usd }: PriceSetting, form: FormData): SettingsChange[] {
  const typed = (field: string) => String(form.get(field) ?? '').trim()
  const fresh = typed(name) || null
  const chosen = typed(nameField(name))
  if (name.includes(chosenName) && (chosen === '') !== (fresh === null))
    throw new RefusedError(0, { happened: `${name} needs a name and a price.`, next: 'Fill in both, or neither.' })
  const price = name.replace(chosenName, chosen)
  return fresh === usd ? [] : [{ kind: 'price', model, price, usd: fresh }]
}

function ModelDialog({
  model: { model, isOn, prices },
  review,
  close,
}: DialogProps & { model: ModelSetting }): JSX.Element {
  const submit = (form: FormData) =>
    review([
      ...prices.flatMap(price => priceChanges(model, price, form)),
      ...(form.has('isOn') === isOn ? [] : [{ kind: 'model' as const, model, isOn: form.has('isOn') }]),
    ])
  return (
    <DialogForm title={`Change ${model}`} action="Show the change" submit={submit} close={close}>
      {prices.map(price => (
        <PriceField key={price.name} price={price} />
      ))}
      {prices.some(({ isOptional }) => isOptional) && <p class="quiet">Leave an optional price empty to set none.</p>}
      <label>
        <input name="isOn" type="checkbox" checked={isOn} /> Sold to callers
      </label>
      <p class="quiet">
        A price applies to calls that begin after the change. Running calls and queued jobs keep theirs.
      </p>
    </DialogForm>
  )
}

interface LimitDialogProps extends DialogProps {
  /** Null for a new one. */
  limit: LimitSetting | null
  edits: SettingsEdits
}

function LimitDialog({ limit, edits: { models, limitTypes }, review, close }: LimitDialogProps): JSX.Element {
  const scope = useSignal<LimitSetting['scope']>(limit?.scope ?? 'types')
  const submit = (form: FormData) => {
    const perMinute = (name: string) => {
      const text = String(form.get(name) ?? '').trim()
      return text === '' ? null : Number(text)
    }
    const name = limit?.name ?? String(form.get('name') ?? '')
    const counts = { requestsPerMinute: perMinute('requests'), tokensPerMinute: perMinute('tokens') }
    return review([{ kind: 'limit', scope: scope.value, name, ...counts }])
  }
  const names = scope.value === 'models' ? models.map(({ model }) => model) : limitTypes
  return (
    <DialogForm
      title={limit ? `Limit of ${limit.name}, for ${scopes[limit.scope]}` : 'Add a limit'}
      action="Show the change"
      submit={submit}
      close={close}
    >
      {!limit && (
        <>
          <label>
            For{' '}
            <select
              value={scope.value}
              onChange={event =>
                (scope.value = limitScopes.find(each => each === event.currentTarget.value) ?? 'types')
              }
            >
              <Options of={limitScopes.map(each => [each, scopes[each]] as const)} />
            </select>
          </label>
          <label>
            Name{' '}
            <select name="name">
              <Options of={names} />
            </select>
          </label>
        </>
      )}
      <label>
        Requests per minute{' '}
        <input name="requests" inputMode="numeric" pattern="\d{1,8}" value={limit?.requestsPerMinute ?? ''} />
      </label>
      <label>
        Tokens per minute{' '}
        <input name="tokens" inputMode="numeric" pattern="\d{1,12}" value={limit?.tokensPerMinute ?? ''} />
      </label>
      <p class="quiet">Leave a field empty to use the plan’s limit.</p>
    </DialogForm>
  )
}

function PlanDialog({ plan, review, close }: DialogProps & { plan: SettingsEdits['plan'] }): JSX.Element {
  const submit = (form: FormData) => {
    const chosen = planNames.find(each => each === form.get('plan')) ?? plan
    return review([{ kind: 'plan', plan: chosen }])
  }
  return (
    <DialogForm title="Change the plan" action="Show the change" submit={submit} close={close}>
      <label>
        Plan{' '}
        <select name="plan" value={plan}>
          <Options of={planNames} />
        </select>
      </label>
    </DialogForm>
  )
}

interface ReviewDialogProps extends ChangeSettingsProps, Pick<DialogProps, 'close'> {
  changes: readonly SettingsChange[]
  diff: readonly string[]
}

/** Shows what would be written, before it is written. */
function ReviewDialog({
  version,
  changes,
  diff,
  done,
  close,
}: Omit<ReviewDialogProps, 'edits'> & { version: string }): JSX.Element {
  const submit = async (form: FormData) => {
    const order = { version, changes, reason: String(form.get('reason') ?? '') }
    said.value = (await postJson<Notice>('/api/settings/change', order)).said
    await done()
  }
  return (
    <DialogForm title="Change farebox.yaml" action="Write and reload" submit={submit} close={close}>
      <pre class="diff">
        {diff.map((line, index) => (
          <span
            key={`${index} ${line}`}
            class={line.startsWith('+') ? 'fresh' : line.startsWith('-') ? 'former' : undefined}
          >
            {`${line}\n`}
          </span>
        ))}
      </pre>
      <label>
        Reason <input name="reason" required maxLength={500} />
      </label>
    </DialogForm>
  )
}
