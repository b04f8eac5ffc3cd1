export const basePath = '/api/v1'

/** The base URL of the contract. */
export const baseUrl = (settings: { publicUrl: string }): string => `${settings.publicUrl}${basePath}`

/** Where a caller can read on. */
export const docsUrl = (settings: { publicUrl: string }): string => `${baseUrl(settings)}/openapi.yaml`

/** Shape `YYYYMMDD.HHMMSS` (brief §9.2); in the description and in `x-service-version`. Changes with the contract. */
export const apiVersion = '20261121.090000'
