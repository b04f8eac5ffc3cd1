import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { RefusedNote } from '../../kit/dialog.tsx'
import type { Refused } from '../../kit/wire.ts'
import { refusalOf } from './untrusted.ts'

/**
 * Waits for a wallet's answer, which may never come. An answer that comes after the user stopped waiting or left the
 * page is ignored.
 */
export function useWalletCall() {
  const waitsFor = useSignal<string | null>(null)
  const refused = useSignal<Refused | null>(null)
  const attempt = useRef(0)
  const stop = () => {
    attempt.current++
    waitsFor.value = null
  }
  useEffect(() => stop, [])
  async function run<Answer>(
    name: string,
    call: () => Promise<Answer>,
    then: (answer: Answer) => void | Promise<void>,
  ): Promise<void> {
    const own = ++attempt.current
    waitsFor.value = name
    refused.value = null
    try {
      const answer = await call()
      if (own === attempt.current) await then(answer)
    } catch (error) {
      if (own === attempt.current) refused.value = refusalOf(error)
    }
    if (own === attempt.current) waitsFor.value = null
  }
  return { run, stop, waitsFor: waitsFor.value, refused: refused.value }
}

type WalletCall = Pick<ReturnType<typeof useWalletCall>, 'stop' | 'waitsFor' | 'refused'>

/** Which wallet is asking, or what went wrong. */
export function WalletCallNote({ stop, waitsFor, refused }: WalletCall): JSX.Element {
  return (
    <>
      {waitsFor !== null && (
        <p role="status">
          Answer in {waitsFor}.{' '}
          <button type="button" class="small" onClick={stop}>
            Stop waiting
          </button>
        </p>
      )}
      <RefusedNote refused={refused} />
    </>
  )
}
