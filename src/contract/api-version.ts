/** Shape `YYYYMMDD.HHMMSS` (brief §9.2); in the description and in `x-service-version`. Changes with the contract. */
export const apiVersion = '20261121.090000'
