/** Every limit of the simulator, with its unit. */

/** Steps of one seed: enough that holds lapse, payments expire and a few processes die. */
export const usualSteps = 200
export const mostSteps = 10_000

/** Seeds of one run: a hundred thousand are a night. */
export const usualSeeds = 2_000
export const mostSeeds = 1_000_000

/** From so many seeds on, a run that never reached an interesting state fails for it. */
export const seedsForEveryState = 500

/** More threads than this bring nothing on the machines that this runs on. */
export const mostThreads = 16

/** Seeds below which starting another thread takes longer than it saves. */
export const seedsPerThread = 5

/** Failures that are told with lines of their traces; the others are counted. */
export const failuresTold = 3

/** Lines of a trace that are printed: of what the failure names, and of what came last. The whole of it is in a file. */
export const linesTold = 40

/** How often the progress of a long run is told, in seeds. */
export const toldEverySeeds = 100
