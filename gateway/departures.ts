/**
 * What is to be sent in one turn of the event loop leaves at the turn's end, all of it together. The kernel hands bytes to
 * their reader within the call that sends them, and where the reader sleeps it is woken then and there, which costs more
 * than the sending. Of many messages in a row the first alone wakes anybody.
 */
export interface Departure {
  /** Sends what waits; nothing where it has left already. Must not throw. */
  depart(): void;
}

let waiting: Departure[] = [];

/** `depart` is called once, when this turn's input is read and before the next is waited for. */
export function departWithTurn(departure: Departure): void {
  if (waiting.push(departure) === 1) setImmediate(departAll);
}

function departAll(): void {
  const departing = waiting;
  waiting = [];
  for (const departure of departing) departure.depart();
}
