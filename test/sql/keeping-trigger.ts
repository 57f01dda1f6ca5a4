/** Lets no row of the lock table be updated, without an error. */
export const KEEPING_TRIGGER = {
  postgres: [
    'create function keep() returns trigger language plpgsql as $$ begin return null; end $$',
    'create trigger keep before update on shedlock for each row execute function keep()',
  ],
  mariadb: [
    'create trigger keep before update on shedlock for each row set new.lock_until = old.lock_until, new.locked_by = old.locked_by',
  ],
} as const
