import * as bounds from './bounds.ts'
import type { FaultCommand } from './fault-run.ts'
import { mostSeeds, usualSeeds } from './sim/bounds.ts'
import { mostRounds, usualRounds } from './wallet/bounds.ts'

/** Every kind of fault has a flag; without one, the first kind runs. */
export const commands: readonly [FaultCommand, ...FaultCommand[]] = [
  {
    flag: 'kills',
    what: 'Kills a real server with SIGKILL under load, so often, and checks that whatever it acknowledged stands.',
    usual: bounds.defaultKills,
    most: bounds.mostKills,
    stores: ['sqlite', 'postgres'],
    load: async () => (await import('./kill-run.ts')).killRun,
  },
  {
    flag: 'power',
    what: 'Records what the store writes and syncs, then opens what so many losses of power would have left of it.',
    usual: 200,
    most: bounds.mostImages,
    stores: ['sqlite'],
    load: async () => (await import('./power/power-run.ts')).powerRun,
  },
  {
    flag: 'points',
    what: 'Kills the server at every named point between two effects, so often in every flow that comes by it.',
    usual: 3,
    most: bounds.mostPasses,
    stores: ['sqlite'],
    load: async () => (await import('./points/point-run.ts')).pointRun,
  },
  {
    flag: 'nth',
    what: 'Lets the first, the second and every other commit of each flow fail in four ways, in so many rounds.',
    usual: 1,
    most: bounds.mostRounds,
    stores: ['sqlite'],
    load: async () => (await import('./nth/nth-run.ts')).nthRun,
  },
  {
    flag: 'open-holds',
    what: 'Leaves so many holds open by a kill, and measures the next start, which has to end them all.',
    usual: 10_000,
    most: bounds.mostOpenHolds,
    stores: ['sqlite', 'postgres'],
    load: async () => (await import('./open-holds/open-holds-run.ts')).openHoldsRun,
  },
  {
    flag: 'disk-full',
    what: 'Fills the disk under the database of a loaded server, so often, and gives it room again.',
    usual: 3,
    most: bounds.mostFullDisks,
    stores: ['sqlite'],
    load: async () => (await import('./disk-full/disk-full-run.ts')).diskFullRun,
  },
  {
    flag: 'clock',
    what: 'Lets the clock of a loaded server jump by up to ten minutes either way, in so many lives of it.',
    usual: 3,
    most: bounds.mostClockLives,
    stores: ['sqlite'],
    load: async () => (await import('./clock/clock-run.ts')).clockRun,
  },
  {
    flag: 'network',
    what: 'Troubles the network so often: between service and engine, or with PostgreSQL between service and database.',
    usual: 20,
    most: bounds.mostTroubles,
    stores: ['sqlite', 'postgres'],
    load: async () => (await import('./network/network-run.ts')).networkRun,
  },
  {
    flag: 'download',
    what: 'Cuts a download of 1 GiB so often, kills its process five times a hundred cuts, and compares the file.',
    usual: 100,
    most: bounds.mostCuts,
    stores: ['sqlite'],
    load: async () => (await import('./download/download-run.ts')).downloadRun,
  },
  {
    flag: 'sim',
    what: 'Lives so many seeds of the whole service in one process, whose time, store, engines and chain the seed owns.',
    usual: usualSeeds,
    most: mostSeeds,
    stores: ['sqlite'],
    load: async () => (await import('./sim/sim-run.ts')).simRun,
  },
  {
    flag: 'wallet',
    what: 'Kills processes that share a wallet between two steps of a payment, at a service in trouble, in so many rounds.',
    usual: usualRounds,
    most: mostRounds,
    stores: ['sqlite', 'postgres'],
    load: async () => (await import('./wallet/wallet-run.ts')).walletRun,
  },
]
