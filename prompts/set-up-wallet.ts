import { z } from 'zod'
import { definePrompt } from '#toolkit/define.ts'

export default definePrompt({
  name: 'set-up-wallet',
  title: 'Set up the wallet',
  description: 'From no wallet to a first paid answer, step by step. No key is shown here.',
  needs: ['wallet_status', 'models_find'],
  arguments: z.strictObject({
    budget_usd: z
      .string()
      .regex(/^\d{1,6}(\.\d{1,6})?$/, 'an amount such as 10')
      .optional()
      .describe('Maximum spending per day in USD, such as 10.'),
  }),

  write: ({
    budget_usd,
  }) => `Help me set up the wallet that pays for these tools. I run the commands in a terminal that you cannot see. Never ask me for a key, a passphrase or recovery words, and tell me to stop if I am about to paste one here.

1. Call wallet_status and tell me whether there is a wallet, an API key or neither.
2. If there is neither: make the first paid call that I ask for. If this client can open links or show forms, it then offers a page on this machine where I create the wallet. Otherwise have me run the command that wallet_status names, with the address of my service. An API key in FAREBOX_API_KEY works too, but farebox cannot buy credit for it.
3. Tell me the wallet's address and network from wallet_status, and ask me to send it a small amount of USDC on that network, no more than I would carry as cash.
4. Explain the caps that wallet_status shows: for a payment, a call, a day and in total, and the amount above which I have to approve. ${budget_usd ? `I want to spend at most ${budget_usd} USD a day: tell me to set FAREBOX_MAX_DAY_USD=${budget_usd} in the settings of this server.` : 'Ask me whether they suit me, and which FAREBOX_MAX_… setting of this server I want to change.'}
5. When I say that I have sent the USDC, call wallet_status again. Then use models_find to show me what a first question would cost, and wait for my approval before you buy anything.`,
})
