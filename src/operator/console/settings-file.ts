import type { SettingsChange, SettingsView } from '#pages/console/settings-wire.ts'
import type { Told } from '#pages/console/wire.ts'

/** The configuration's file of a running service. Throws `OperatorRefused` for what the operator can do something about. */
export interface SettingsFile {
  check(): Promise<SettingsView>
  /** The lines that the changes would replace in this version of the file, as a page may show them. */
  draft(order: SettingsOrder): Promise<readonly string[]>
  /**
   * Writes the changes and reloads the file. `note` runs once nothing but the disk can fail, before the file is
   * replaced, and a second time if it could not be replaced after all. Returns what came of it.
   */
  change(order: SettingsOrder, note: (diff: readonly string[], failed?: string) => Promise<void>): Promise<Told>
}

export interface SettingsOrder {
  version: string
  changes: readonly SettingsChange[]
}
