import type { JSX } from 'preact'
import { postJson } from '../kit/api.ts'
import { RefusedNote } from '../kit/dialog.tsx'
import { Waiting } from '../kit/list.tsx'
import { Table } from '../kit/table.tsx'
import { may, useLive } from './operator.ts'
import { ChangeSettings } from './settings-changes.tsx'
import type { SettingsView } from './wire.ts'

/** The current contents of the configuration file. */
export function SettingsPage(): JSX.Element {
  return may('owner') ? <Settings /> : <p>Only owners can see the settings.</p>
}

function Settings(): JSX.Element {
  const settings = useLive(() => postJson<SettingsView>('/api/settings', {}))
  const shown = settings.value.value
  if (!shown) return <Waiting problem={settings.problem.value} />
  const { faults, facts, waitForRestart, edits } = shown
  return (
    <>
      <RefusedNote refused={settings.problem.value} />
      <p class={faults.length > 0 ? 'refused' : undefined} role="status">
        {faults.length > 0
          ? 'farebox.yaml has errors. The service keeps its current settings, but would not start again.'
          : 'farebox.yaml is valid.'}
      </p>
      {edits?.isLoaded === false && (
        <p>
          The file has been edited since the service loaded it. SIGHUP loads the edits, and so does a change that you
          make here.
        </p>
      )}
      {waitForRestart.length > 0 && <p>Edited; takes effect after a restart: {waitForRestart.join(', ')}.</p>}
      {faults.length > 0 && (
        <Table
          caption="Errors"
          columns={[
            { name: 'Line', isNumber: true, show: ({ line, column }) => `${line}:${column}` },
            { name: 'Setting', show: ({ field }) => <code>{field}</code> },
            { name: 'Problem', show: ({ sentence }) => sentence },
          ]}
          rows={faults}
          keyOf={({ line, column, field, sentence }) => `${line}:${column} ${field} ${sentence}`}
          empty=""
        />
      )}
      {edits && <ChangeSettings edits={edits} done={settings.refresh} />}
      {facts && <Facts facts={facts} />}
    </>
  )
}

function Facts({ facts }: { facts: NonNullable<SettingsView['facts']> }): JSX.Element {
  const { publicUrl, listen, rails, proxies, otherFeatures } = facts
  const rows = [
    { name: 'Address of the API', value: publicUrl },
    { name: 'Listens on', value: listen },
    { name: 'Top-ups in USDC', value: rails.length > 0 ? rails.join(', ') : 'none: only operators give credit' },
    ...(proxies === null ? [] : [{ name: 'Proxies', value: proxies }]),
    ...(otherFeatures.length > 0 ? [{ name: 'Other features', value: otherFeatures.join('; ') }] : []),
  ]
  return (
    <>
      <h2>Other settings</h2>
      <p class="quiet">Keys, addresses of engines and payment settings change only in the file.</p>
      <Table
        caption="Other settings"
        columns={[
          { name: 'Setting', show: ({ name }) => name },
          { name: 'Value', show: ({ value }) => value },
        ]}
        rows={rows}
        keyOf={({ name }) => name}
        empty=""
      />
    </>
  )
}
