import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { DialogForm, Options } from '../kit/dialog.tsx'
import { said } from '../kit/sections.tsx'
import type { CustomerView } from './answers.ts'
import { act, may, money, titleOf } from './operator.ts'
import { planNames } from './wire.ts'

const acts = ['change', 'credit', 'refund', 'suspend', 'resume', 'limit'] as const
type ActName = (typeof acts)[number]

const words: Readonly<Record<ActName, string>> = {
  change: 'Edit details',
  credit: 'Credit',
  refund: 'Refund a request',
  suspend: 'Suspend',
  resume: 'Resume',
  limit: 'Change plan',
}

const doneTo: Readonly<Record<ActName, string>> = {
  change: 'Changed',
  credit: 'Credited',
  refund: 'Refunded a request of',
  suspend: 'Suspended',
  resume: 'Resumed',
  limit: 'Changed the plan of',
}

/** The actions that the operator may take now, each in a dialog that asks for a reason. */
export function CustomerActs({
  customer,
  done,
}: {
  customer: CustomerView
  done(): Promise<void>
}): JSX.Element | null {
  const open = useSignal<ActName | null>(null)
  if (!may('support')) return null
  const shown = acts.filter(
    name =>
      name !== (customer.state === 'active' ? 'resume' : 'suspend') &&
      (may('owner') || (name !== 'credit' && name !== 'limit')),
  )
  return (
    <>
      <p class="controls">
        {shown.map(name => (
          <button key={name} type="button" onClick={() => (open.value = name)}>
            {words[name]}
          </button>
        ))}
      </p>
      {open.value && <ActDialog name={open.value} customer={customer} done={done} close={() => (open.value = null)} />}
    </>
  )
}

interface ActDialogProps {
  name: ActName
  customer: CustomerView
  done(): Promise<void>
  close(): void
}

function ActDialog({ name, customer, done, close }: ActDialogProps): JSX.Element {
  // One id for each dialog, so that a second click or a repeat after a lost answer credits once.
  const id = useSignal(idOfDialog()).value
  const submit = async (form: FormData) => {
    const text = (field: string) => String(form.get(field) ?? '').trim()
    const whole = { customer: customer.customer, ...(text('reason') ? { reason: text('reason') } : {}) }
    const inputs: Record<ActName, object> = {
      change: { ...whole, name: text('name'), email: text('email') || null, note: text('note') || null },
      credit: { ...whole, usd: text('usd'), id },
      refund: { request: text('request'), reason: text('reason') },
      suspend: whole,
      resume: whole,
      limit: { ...whole, plan: text('plan') || null },
    }
    const answer = (await act(`customer.${name}`, inputs[name])) as { refundedUsd?: string; balanceUsd?: string }
    said.value = `${doneTo[name]} ${titleOf(customer)}.${
      answer.balanceUsd ? ` The balance is ${money(answer.balanceUsd)}.` : ''
    }${answer.refundedUsd ? ` ${money(answer.refundedUsd)} was returned.` : ''}`
    await done()
  }
  const isWhyNeeded = ['credit', 'refund', 'suspend'].includes(name)
  return (
    <DialogForm title={`${words[name]}: ${titleOf(customer)}`} action={words[name]} submit={submit} close={close}>
      {name === 'change' && (
        <>
          <label>
            Name <input name="name" required maxLength={200} value={customer.name ?? ''} />
          </label>
          <label>
            E-mail <input name="email" type="email" maxLength={500} value={customer.email ?? ''} />
          </label>
          <label>
            Note <input name="note" maxLength={500} value={customer.note ?? ''} />
          </label>
        </>
      )}
      {name === 'credit' && (
        <label>
          USD <input name="usd" required inputMode="decimal" pattern="\d+(\.\d{1,6})?" placeholder="5 or 0.25" />
        </label>
      )}
      {name === 'refund' && (
        <label>
          Request <input name="request" required maxLength={200} placeholder="the id of a charged request" />
        </label>
      )}
      {name === 'limit' && (
        <label>
          Plan{' '}
          <select name="plan" value={customer.plan ?? ''}>
            <option value="">from the configuration</option>
            <Options of={planNames} />
          </select>
        </label>
      )}
      <label>
        {isWhyNeeded ? 'Reason' : 'Reason, if any'} <input name="reason" required={isWhyNeeded} maxLength={500} />
      </label>
      {name === 'suspend' && <p class="quiet">Running calls end within seconds; new ones are refused.</p>}
    </DialogForm>
  )
}

const idOfDialog = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, '0')).join('')
