import type { planNames } from './wire.ts'

/**
 * `POST /api/settings`: the result of `farebox serve --check` on the current configuration file. It contains no secret.
 */
export interface SettingsView {
  faults: { line: number; column: number; field: string; sentence: string }[]
  /** Null if there are faults. */
  facts: {
    publicUrl: string
    listen: string
    rails: string[]
    proxies: string | null
    otherFeatures: string[]
    models: { id: string; type: string; engines: string[]; enabled: boolean }[]
  } | null
  /** Settings whose changes take effect only after a restart. */
  waitForRestart: string[]
  /** What owners may change here; null if there are faults. */
  edits: SettingsEdits | null
}

export interface SettingsEdits {
  /**
   * The version of the file as it is now. A change names it, and is refused if the file has another version by then.
   */
  version: string
  /** Whether the service runs with this version. If not, a change also loads what was edited by hand. */
  isLoaded: boolean
  plan: (typeof planNames)[number]
  models: { model: string; type: string; isOn: boolean; prices: PriceSetting[] }[]
  limits: LimitSetting[]
  limitTypes: string[]
}

export interface PriceSetting {
  /** Such as `inputPerMillionUsd` or `perSecondUsd.480p`. A star stands for a name to choose, such as a resolution. */
  name: string
  /** Null where the file has none; then it can be added. */
  usd: string | null
  /** Whether it can be removed. */
  isOptional: boolean
}

export const limitScopes = ['types', 'models', 'apiKey', 'global'] as const

/** A limit per minute in the file; null where the plan's limit applies. */
export interface LimitSetting {
  scope: (typeof limitScopes)[number]
  /** A type such as `image`, or a model's id. */
  name: string
  requestsPerMinute: number | null
  tokensPerMinute: number | null
}

export type SettingsChange =
  /** Null removes an optional price. */
  | { kind: 'price'; model: string; price: string; usd: string | null }
  | { kind: 'model'; model: string; isOn: boolean }
  | ({ kind: 'limit' } & LimitSetting)
  | { kind: 'plan'; plan: (typeof planNames)[number] }

/** `POST /api/settings/draft`: lines that begin with `-`, `+` or a space. Values that pages never show are dots. */
export interface SettingsDraft {
  diff: string[]
}
