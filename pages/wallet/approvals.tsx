import { useSignal } from '@preact/signals'
import { Fragment, type JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { readBlob, refusedOf } from '../kit/api.ts'
import { RefusedNote } from '../kit/dialog.tsx'
import { fileSize, inTime, utcTime } from '../kit/format.ts'
import { Words } from '../kit/text.tsx'
import type { Refused } from '../kit/wire.ts'
import type { WalletData } from './wallet-data.ts'
import type { AskedFileView, PendingApproval, WalletState } from './wire.ts'

export function Approvals({ wallet, data }: { wallet: WalletState; data: WalletData }): JSX.Element {
  const title = useRef<HTMLHeadingElement>(null)
  return (
    <section id="approvals" aria-labelledby="approvals-title">
      <h2 id="approvals-title" tabIndex={-1} ref={title}>
        Approvals
      </h2>
      <p class="quiet" role="status">
        {pendingSaid(wallet.approvals.length)}
      </p>
      {wallet.approvals.map(approval => (
        <ApprovalCard
          key={approval.id}
          approval={approval}
          nowMs={wallet.atMs}
          data={data}
          decided={() => title.current?.focus()}
        />
      ))}
    </section>
  )
}

const pendingSaid = (pending: number): string =>
  pending === 0 ? 'Nothing is pending.' : pending === 1 ? 'One request is pending.' : `${pending} requests are pending.`

interface CardProps {
  approval: PendingApproval
  nowMs: number
  data: WalletData
  /** Takes the focus from the card. */
  decided(): void
}

/** One approval in full. Untrusted texts are text nodes, so that they cannot contain markup. */
function ApprovalCard({ approval, nowMs, data, decided }: CardProps): JSX.Element {
  const refused = useSignal<Refused | null>(null)
  const isBusy = useSignal(false)
  const { id, kind, question, why, details, policyText, statements, files, ifApproved, ifDenied, expiresAtMs } =
    approval
  const decide = async (event: SubmitEvent) => {
    event.preventDefault()
    if (isBusy.value) return
    const form = new FormData(event.currentTarget as HTMLFormElement)
    const isApproved = (event.submitter as HTMLButtonElement | null)?.value === 'yes'
    isBusy.value = true
    try {
      await data.send('POST /api/approvals', { id, isApproved, statements: form.getAll('statement').map(String) })
      decided()
    } catch (error) {
      refused.value = refusedOf(error)
      isBusy.value = false
    }
  }
  return (
    <form class="card approval" aria-labelledby={id} onSubmit={decide}>
      <h3 id={id}>{question}</h3>
      <p>{why}</p>
      <div class="asked">
        <dl class="facts">
          {details.map(({ name, value }) => (
            <Fragment key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </Fragment>
          ))}
        </dl>
        <AskedFiles approval={id} files={files} />
      </div>
      {policyText !== null && (
        <>
          <p>This is the full text of the policy, as the service sent it:</p>
          <textarea class="policy" aria-label="Policy" readOnly rows={10} value={policyText} />
        </>
      )}
      {statements.map(({ name, text }) => (
        <label key={name} class="block">
          <input type="checkbox" name="statement" value={name} /> {text}
        </label>
      ))}
      <ul class="quiet ends" id={`${id}-ends`}>
        <li>{ifApproved}</li>
        <li>
          <Words text={ifDenied} />
        </li>
        <li>
          Open until {utcTime(expiresAtMs)}, {inTime(expiresAtMs, nowMs)}. Its id is {id}.
        </li>
      </ul>
      <RefusedNote refused={refused.value} />
      <p class="buttons">
        <button type="submit" value="no" aria-describedby={id} disabled={isBusy.value}>
          Deny
        </button>
        <button type="submit" value="yes" class="main" aria-describedby={id} disabled={isBusy.value}>
          {yes[kind]}
        </button>
      </p>
    </form>
  )
}

const yes = { consent: 'I consent', payee: 'Allow this payee', spend: 'Approve' } as const

function AskedFiles({ approval, files }: { approval: string; files: readonly AskedFileView[] }): JSX.Element | null {
  if (files.length === 0) return null
  return (
    <div class="files">
      {files.map((file, index) => (
        <AskedImage
          key={index}
          file={file}
          path={`/api/image?${new URLSearchParams({ approval, file: String(index) })}`}
        />
      ))}
    </div>
  )
}

/** The image itself, if the file has not changed since the request. */
function AskedImage({ file, path }: { file: AskedFileView; path: string }): JSX.Element {
  const url = useSignal<string | null>(null)
  const why = useSignal<string | null>(null)
  useEffect(() => {
    if (!file.isFile) return
    let made: string | null = null
    let isGone = false
    readBlob(path).then(
      blob => {
        if (isGone) return
        made = URL.createObjectURL(blob)
        url.value = made
      },
      error => {
        why.value = refusedOf(error).happened
      },
    )
    return () => {
      isGone = true
      if (made !== null) URL.revokeObjectURL(made)
    }
  }, [path, file.isFile])
  const name = file.name ?? 'a file without a name'
  return (
    <figure>
      {url.value && <img src={url.value} alt={`What the call sends: ${name}`} />}
      <figcaption class="quiet">
        {name}
        {file.bytes === null ? '' : ` (${fileSize(file.bytes)})`}
        {file.isFile ? '' : '. It is not a file on this machine, so it cannot be shown here.'} {why.value}
      </figcaption>
    </figure>
  )
}
