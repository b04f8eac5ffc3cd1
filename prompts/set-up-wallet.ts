import { z } from 'zod'
import { definePrompt } from '#toolkit/define.ts'

export default definePrompt({
  name: 'set-up-wallet',
  title: 'Set up the wallet',
  description: 'From nothing to a first paid answer, step by step. No key is shown here.',
  needs: ['wallet_status', 'models_find'],
  arguments: z.strictObject({
    budget_usd: z
      .string()
      .regex(/^\d{1,6}(\.\d{1,6})?$/, 'an amount such as 10')
      .optional()
      .describe('The most that may be spent in a day, such as 10.'),
  }),

  write: ({
    budget_usd,
  }) => `Help me to set up the wallet that pays for these tools. I run the commands in a terminal; you see none of them. Never ask me for a key, a passphrase or words to recover one, and tell me to stop if I am about to paste one here.

1. Call wallet_status and tell me what is there: a wallet, an API key, or nothing.
2. Where nothing pays yet: make the first paid call that I ask for. If this client can open links or show forms, it then offers a page of this machine on which I make the wallet; otherwise let me run the command that wallet_status names, with the address of my service. An API key in FAREBOX_API_KEY does as well, and is never topped up from here.
3. Tell me the wallet's address and network from wallet_status, and that I should send it a small amount of USDC on that network, no more than I would carry in a pocket.
4. Explain the caps that wallet_status shows: for a payment, a call, a day and in total, and above which amount I am asked. ${budget_usd ? `I want to spend at most ${budget_usd} USD a day: tell me to set FAREBOX_MAX_DAY_USD=${budget_usd} in the settings of this server.` : 'Ask me whether they suit me, and which FAREBOX_MAX_… setting of this server I would change.'}
5. Call wallet_status again when I say that I have paid in. Then show me with models_find what a first question would cost, and wait for my yes before anything is bought.`,
})
