/**
 * Loaded by `--import` before a wallet of the harness. Modules between two steps of a payment are replaced by ones that
 * wrap them, so that nothing in the product itself knows of faults.
 */
import { replaceModules } from '../../arm/replace-modules.ts'

replaceModules(new URL('./', import.meta.url).href, [
  ['wallet/records/journal.ts', 'armed-journal.ts'],
  ['wallet/records/open-records.ts', 'armed-records.ts'],
  ['wallet/payment/payer.ts', 'armed-sign.ts'],
  ['wallet/payment/send-payment.ts', 'armed-send.ts'],
  ['wallet/payment/top-up-lease.ts', 'armed-lease.ts'],
  ['wallet/limits.ts', 'armed-limits.ts'],
  ['client/limits.ts', 'armed-client-limits.ts'],
])
