/** Anvil answers within 140 ms here; a cold disk or a large saved state may take seconds. */
export const CHAIN_START_TIMEOUT_MS = 15_000

/** A stop writes the whole state first. */
export const CHAIN_STOP_TIMEOUT_MS = 15_000

/** One question to a chain on loopback. Longer means that it hangs. */
export const CHAIN_RPC_TIMEOUT_MS = 5_000

/** Between two looks at a chain that starts or stops; short, because people wait for it. */
export const CHAIN_POLL_MS = 15

/** Another program may take the port between our choosing it and anvil's binding it. */
export const PORT_ATTEMPTS = 5

/** What a killed anvil may lose, the shortest that anvil knows. A clean stop loses nothing. */
export const STATE_INTERVAL_S = 1

/**
 * A chain at rest still gets a block this often: calls see the time of the latest block, and older payment clients sign
 * for "from ten minutes ago on".
 */
export const REST_BLOCK_INTERVAL_S = 240

/** Only the latest state is asked for; without this bound anvil keeps one a block and spills them to the home folder. */
export const KEPT_STATES = 64

/** Of the log of anvil that an error quotes. */
export const LOG_EXCERPT_CHARACTERS = 300

/** The name stands in every payment demand and is signed over; real ones have under 30. */
export const TOKEN_NAME_CHARACTERS = 64

/** A billion test dollars at once: more than any test wants, far below what the token can count. */
export const MINT_MICRO_USD = 1_000_000_000_000_000n

/** Two processes that mint at once may pick the same transaction number; the refused one asks again. */
export const MINT_ATTEMPTS = 20

/** Gas money for keys of the local chain: thousands of settlements. */
export const FUNDED_ETH = 10n

/** SOL for the account that pays fees: hundreds of thousands of settlements. */
export const FUNDED_LAMPORTS = 10_000_000_000

/** How often the Solana chain looks whether its folder is still there. */
export const FOLDER_LOOK_MS = 10_000
