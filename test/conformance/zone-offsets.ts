/** Zones in winter, for servers that know no names. */
export const OFFSETS: Readonly<Record<string, string>> = {
  'America/New_York': '-05:00',
  UTC: '+00:00',
  'Asia/Tokyo': '+09:00',
  'Europe/Prague': '+01:00',
}
