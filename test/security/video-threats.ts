import { shown, type Threat } from './threat.ts'

/** Threats to the customers and operators of video jobs (V). */
export const videoThreats: readonly Threat[] = [
  {
    id: 'V1',
    threat: 'a job that fails but stays charged',
    answer: 'refunded once, together with the failure',
    shownBy: [shown('service/video.test.ts', 'V1 §3 a failed job is refunded once, together with its failure')],
  },
  {
    id: 'V2',
    threat: 'an engine that goes silent, so that its work is refunded although the operator still pays for it',
    answer: 'silence is not a failure: the job is polled again, and refunded after a day',
    shownBy: [
      shown(
        'service/video-attacks.test.ts',
        'V2: a job that runs for three hours is neither refunded nor begun again, and then has its verdict',
      ),
      shown('service/video.test.ts', 'V2: an engine that throws has given no verdict'),
      shown(
        'service/jobs/deaf-engine.test.ts',
        'V2: is asked again, and after a day the job has failed and its charge is back',
      ),
    ],
  },
  {
    id: 'V3',
    threat: 'a job that runs forever, or is in an unknown state',
    answer: 'polled for a day, then refunded once',
    shownBy: [
      shown('service/video-attacks.test.ts', 'V3: one that never ends fails after a day, and is refunded once'),
      shown('engines/job-engines.test.ts', 'V3: it is in an unknown state (openai)'),
    ],
  },
  {
    id: 'V4',
    threat: 'the answer to a submission is lost',
    answer: 'submitted again only if the engine knows the job by its key, else failed and refunded',
    shownBy: [
      shown(
        'engines/job-engines.test.ts',
        'V4: a lost answer, where keys are taken (service, keys true)',
        'V4: a lost answer, where they are not (service, keys false)',
        'V4: a lost answer (openai, keys false)',
      ),
    ],
  },
  {
    id: 'V5',
    threat: 'two processes that poll one job',
    answer: 'one polls the engine, and one ends the job',
    shownBy: [
      shown(
        'service/video-attacks.test.ts',
        'V5: of two processes one asks the engine, and one ends the job, whichever it is',
      ),
    ],
  },
  {
    id: 'V6',
    threat: 'an engine whose video is on another host, truncated or not a video',
    answer: 'no key is sent there, a partial file is refused, and answers are served as video downloads',
    shownBy: [
      shown('engines/finished-videos.test.ts', 'V6: no key goes to a signed address, and to no other host in plain'),
      shown('engines/job-engines.test.ts', 'V6: half a film (service)'),
      shown(
        'service/download-attacks.test.ts',
        'G15: what comes is a video to be saved, by a name of ours, and leads nowhere',
      ),
    ],
  },
  {
    id: 'V7',
    threat: 'another account’s job, by its id',
    answer: 'the same 400 as for a job that does not exist',
    shownBy: [shown('service/video.test.ts', 'S7, V7: another account’s job does not exist')],
  },
  {
    id: 'V8',
    threat: 'a consent that is requested repeatedly',
    answer: 'nothing is held or charged before it is given',
    shownBy: [shown('service/video.test.ts', 'V8 §3.2 an image needs consent, charges nothing, and passes with it')],
  },
  {
    id: 'V9',
    threat: 'a consent that is stored without a job, or media fetched for a caller who cannot pay',
    answer: 'consent is stored with the job or not at all; nothing is fetched without the minimum credit',
    shownBy: [
      shown('service/consent.test.ts', 'V9: no consent is stored for a job that was not accepted'),
      shown('engines/video-media/media-rules.test.ts', 'V9: a quote fetches nothing for a caller without credit'),
    ],
  },
  {
    id: 'V10',
    threat: 'one customer’s jobs, or one engine that is down, that keep all other jobs waiting',
    answer:
      'each model has places of its own, and one account has only some of them; the requests of running jobs take limited memory',
    shownBy: [
      shown(
        'service/jobs/job-places.test.ts',
        'V10: jobs of another customer, or of another model, begin although one customer’s fill a slow engine',
        'small requests alone, once all are large',
      ),
    ],
  },
]
