import type { Notice, SettingsChange, SettingsView } from '#pages/console/wire.ts'

/** The configuration file of a running service. Throws `OperatorRefused` for problems that the operator can fix. */
export interface SettingsFile {
  check(): Promise<SettingsView>
  /**
   * The lines that the changes would replace in this version of the file, in the form in which a page may show them.
   */
  draft(order: SettingsOrder): Promise<readonly string[]>
  /**
   * Writes the changes and reloads the file. `note` runs after all checks, just before the file is replaced, and a
   * second time if the file could not be replaced. Returns the outcome.
   */
  change(order: SettingsOrder, note: (diff: readonly string[], failed?: string) => Promise<void>): Promise<Notice>
}

export interface SettingsOrder {
  version: string
  changes: readonly SettingsChange[]
}
