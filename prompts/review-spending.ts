import { z } from 'zod'
import { definePrompt } from '#toolkit/define.ts'

const periods = ['today', 'the last 7 days', 'everything listed'] as const

export default definePrompt({
  name: 'review-spending',
  title: 'Review spending',
  description: 'What the wallet paid, and for what, and whether the caps still suit you. Free.',
  needs: ['wallet_status', 'wallet_receipts', 'job_list'],
  arguments: z.strictObject({
    period: z.enum(periods).optional().describe('today, the last 7 days, or everything listed.'),
  }),
  choices: { period: periods },

  write: ({ period = 'the last 7 days' }) => `Review what was spent: ${period}. Use free tools only, and change nothing.

1. Call wallet_status, wallet_receipts with limit 50 and job_list with limit 50.
2. Show payments from the wallet separately from charges by services. A payment buys credit and a charge uses it, so never add them up.
3. Group the charges by product and by model, with sums. Name the three most expensive.
4. Point out what I should check: payments with an unknown outcome, charges whose receipt differs or cannot be trusted, jobs that failed without a refund, and purchases made twice.
5. Say how much of the daily and the total cap is used, and whether the caps suit my spending. Only I can change them, in the settings of this server; do not offer to do it.`,
})
