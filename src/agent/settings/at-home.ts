import { homedir } from 'node:os'

/**
 * A folder as a person writes it. No shell reads what stands in the settings of a desktop client, and some clients fill in
 * nothing within a default, so the two usual words for one's own folder arrive here as they are.
 */
export const atHome = (path: string): string => path.replace(/^(~|\$\{HOME\})(?=$|[\\/])/, () => homedir())
