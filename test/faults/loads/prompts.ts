import type { Seeded } from '../seeded.ts'

/** A chat whose answer, and so its price, differs from most others. */
export const chatOf = (seeded: Seeded, most: number) => ({
  model: 'demo-chat',
  messages: [{ role: 'user', content: `Count to ${1 + seeded.below(most)}, and then ${seeded.below(1e9)} + 1.` }],
})

/** Its answer takes seconds. */
export const longChat = { model: 'demo-chat', messages: [{ role: 'user', content: 'Count to 400.' }] }

/** The armed engine takes its time where the message begins so. */
export const slowly = 'Slowly:'

/** The same at the pace of a large model: it outlives the round. */
export const slowChat = { model: 'demo-chat', messages: [{ role: 'user', content: `${slowly} count to 400.` }] }
