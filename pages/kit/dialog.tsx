import { useSignal } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { refusedOf, slowRequests } from './api.ts'
import { Words } from './text.tsx'
import type { Refused } from './wire.ts'

interface DialogFormProps {
  title: string
  /** The label of the button. */
  action: string
  /** Throws the server's refusal, which the dialog shows; otherwise closes the dialog. */
  submit(form: FormData): Promise<void>
  close(): void
  children: ComponentChildren
}

/** A form in a dialog. It takes the focus, and returns it when it is closed. */
export function DialogForm({ title, action, submit, close, children }: DialogFormProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  const refused = useSignal<Refused | null>(null)
  const isBusy = useSignal(false)
  useEffect(() => {
    const opener = document.activeElement
    dialog.current?.showModal()
    return () => {
      if (opener instanceof HTMLElement) opener.focus()
    }
  }, [])
  const onSubmit = async (event: SubmitEvent) => {
    event.preventDefault()
    if (isBusy.value) return
    isBusy.value = true
    try {
      await submit(new FormData(event.currentTarget as HTMLFormElement))
      close()
    } catch (error) {
      refused.value = refusedOf(error)
    } finally {
      isBusy.value = false
    }
  }
  return (
    <dialog ref={dialog} aria-labelledby="dialog-title" onClose={close}>
      <form onSubmit={onSubmit}>
        <h2 id="dialog-title">{title}</h2>
        {children}
        <RefusedNote refused={refused.value} />
        <p class="buttons">
          <button type="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" class="main" disabled={isBusy.value}>
            {action}
          </button>
        </p>
      </form>
    </dialog>
  )
}

/** The options of a select, each by its value or by its value and its words. */
export const Options = ({ of }: { of: readonly (string | readonly [value: string, words: string])[] }): JSX.Element => (
  <>
    {of.map(each => {
      const [value, words] = typeof each === 'string' ? [each, each] : each
      return (
        <option key={value} value={value}>
          {words}
        </option>
      )
    })}
  </>
)

/** Says that the page still waits, so that a slow server does not look like a page that hangs. */
export function SlowNote(): JSX.Element {
  return (
    <div role="status">
      {slowRequests.value > 0 && (
        <p class="quiet">
          The server has not answered for 10 seconds. This page keeps waiting; you can also reload it.
        </p>
      )}
    </div>
  )
}

/** Shown until a session is open. */
export const Opening = (): JSX.Element => (
  <main>
    <p class="quiet">Loading this page…</p>
    <SlowNote />
  </main>
)

/** What is wrong and what to do. */
export function RefusedNote({ refused }: { refused: Refused | null }): JSX.Element | null {
  if (!refused) return null
  return (
    <p class="refused" role="alert">
      <Words text={`${refused.happened} ${refused.next}`} />
    </p>
  )
}
