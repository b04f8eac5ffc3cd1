export const basePath = '/api/v1'

export const baseUrl = (settings: { publicUrl: string }): string => `${settings.publicUrl}${basePath}`

/** Where callers find the documentation. */
export const docsUrl = (settings: { publicUrl: string }): string => `${settings.publicUrl}/docs`

/** Where users read the consent policy of a provider. */
export const policyUrl = (settings: { publicUrl: string }, provider: string): string =>
  `${settings.publicUrl}/policies/${encodeURIComponent(provider)}`

/** Format `YYYYMMDD.HHMMSS` (brief §9.2); in the description and in `x-service-version`. Changes with the contract. */
export const apiVersion = '20261121.090000'
