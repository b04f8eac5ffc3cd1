import { shown, type Threat } from './threat.ts'

/** What threatens the service by what is sent to it over HTTP. */
export const httpThreats: readonly Threat[] = [
  {
    id: 'G1',
    threat: 'an address that leads into the operator’s own network, by any spelling, name or redirect',
    answer: 'nothing is asked there; what was checked is what is connected to',
    shownBy: [
      shown(
        'service/media/guarded-fetcher.test.ts',
        'G1: a redirect to a private address is refused as if it had been named',
        'G1: what reads as two hosts is the one that would be asked',
      ),
      shown(
        'service/media/private-addresses.test.ts',
        'G1: a name server that changes its mind is asked once, and its second answer counts for nothing',
      ),
      shown('service/video-transcription.test.ts', 'G1 the guarded fetcher stands before every private address'),
    ],
  },
  {
    id: 'G3',
    threat: 'requests whose end reads in two ways, so that a proxy sees another one',
    answer: 'one refusal, and what lies behind is not answered',
    shownBy: [
      shown(
        'service/socket-attacks.test.ts',
        'G3: a length and chunks: one refusal, and what lies behind is not answered',
        'G3: what belongs to the connection is not taken for the request’s',
      ),
    ],
  },
  {
    id: 'G4',
    threat: 'bodies and headers without end, or that unfold to a thousand times their size',
    answer: '413, 415 or 431, before they are read or unpacked',
    shownBy: [
      shown(
        'service/socket-attacks.test.ts',
        'G4: a bomb of br is not unpacked',
        'G4: a body of /api/v1/video/queue that announces more than it may have is not waited for',
        'G4: headers without end',
      ),
    ],
  },
  {
    id: 'G7',
    threat: 'thousands of connections that send or read nothing',
    answer: 'cut off in their time, and no more of them than the service has places for',
    shownBy: [
      shown(
        'service/socket-attacks.test.ts',
        'G7: half a header is cut off in its time',
        'G7: so is half a body',
        'G7: more connections than there may be are closed unread',
      ),
      shown('service/bodies.test.ts', 'S10, G7: a reader who stalls'),
    ],
  },
]
