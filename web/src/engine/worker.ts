/** The worker in which networks run. */

import { listen, type Call } from "./host";

const hear = listen((message) => postMessage(message));
onmessage = ({ data }: MessageEvent<Call>) => void hear(data);
