import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { utcTime } from './format.ts'
import type { QrCode } from './wire.ts'

/** A sentence from the server, with text between backticks shown as code. */
export function Words({ text }: { text: string }): JSX.Element {
  const parts = text.split('`')
  // A backtick without a partner belongs to the text.
  if (parts.length % 2 === 0) return <>{text}</>
  return <>{parts.map((part, index) => (index % 2 === 0 ? part : <code key={index}>{part}</code>))}</>
}

/** A QR code; `label` says for screen readers what it contains. */
export function Qr({ qr, label }: { qr: QrCode; label: string }): JSX.Element {
  return (
    <svg class="qr" viewBox={`0 0 ${qr.size} ${qr.size}`} role="img" aria-label={label}>
      <path d={qr.path} />
    </svg>
  )
}

/** A text to copy, such as an address. */
export function CopyText({ text, what }: { text: string; what: string }): JSX.Element {
  const said = useSignal('')
  const copy = async () => {
    said.value = await navigator.clipboard.writeText(text).then(
      () => 'Copied.',
      () => 'The browser does not allow copying here. Select the text instead.',
    )
  }
  return (
    <span class="copy">
      <code>{text}</code>{' '}
      <button type="button" class="small" aria-label={`Copy ${what}`} onClick={copy}>
        Copy
      </button>{' '}
      <span class="quiet" role="status">
        {said.value}
      </span>
    </span>
  )
}

/** A time in UTC, on one line. */
export const Time = ({ atMs }: { atMs: number }): JSX.Element => (
  <time dateTime={new Date(atMs).toISOString()}>{utcTime(atMs)}</time>
)
