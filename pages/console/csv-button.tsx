import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { postBlob, refusedOf } from '../kit/api.ts'
import { saveBlob } from '../kit/csv.ts'
import { RefusedNote } from '../kit/dialog.tsx'
import type { Refused } from '../kit/wire.ts'

/** Saves a whole list, with its filter, as a file. The button and what was refused stand in different places. */
export function useCsv(name: 'entries' | 'usage', filter: object): { button: JSX.Element; refusal: JSX.Element } {
  const refused = useSignal<Refused | null>(null)
  const isBusy = useSignal(false)
  const save = async () => {
    isBusy.value = true
    refused.value = null
    try {
      saveBlob(`${name}.csv`, await postBlob(`/api/operator/${name}.csv`, filter))
    } catch (error) {
      refused.value = refusedOf(error)
    }
    isBusy.value = false
  }
  return {
    button: (
      <button type="button" disabled={isBusy.value} onClick={save}>
        {isBusy.value ? 'Saving…' : 'Save all as CSV'}
      </button>
    ),
    refusal: <RefusedNote refused={refused.value} />,
  }
}
