import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.StringJoiner;
import java.util.stream.IntStream;
import javax.sql.DataSource;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.provider.jdbc.JdbcLockProvider;

/**
 * Runs Java's ShedLock over one JDBC connection. Each line of the input requests an operation: "60 lose" runs it for 60 milliseconds,
 * "0 lose" once. The answer is one line with the nanoseconds that each run took. Arguments: JDBC URL, user, password, table.
 */
public class ShedLockOperations {
    interface Operation {
        void run() throws Exception;
    }

    /**
     * Used in turn: in a column of milliseconds the time of a release may be rounded up, so a lock may be free only half a
     * millisecond later.
     */
    private static final String[] WIN =
            IntStream.range(0, 8).mapToObj(index -> "win Java " + index).toArray(String[]::new);

    private static int turn = 0;

    public static void main(String[] args) throws Exception {
        Connection connection = DriverManager.getConnection(args[0], args[1], args[2]);
        LockProvider provider = new JdbcLockProvider(JdbcLockProvider.Configuration.builder(only(connection))
                .withTableName(args[3])
                .usingDbTime()
                .build());
        Map<String, Operation> operations = Map.of(
                "read one row", () -> read(connection, args[3], "held"),
                "win + release", () -> provider.lock(minute(WIN[turn++ % WIN.length])).orElseThrow().unlock(),
                "lose", () -> {
                    if (provider.lock(minute("held")).isPresent()) throw new IllegalStateException("the lock was free");
                });
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
        for (String order; (order = orders.readLine()) != null; ) {
            String[] parts = order.split(" ", 2);
            System.out.println(nanoseconds(operations.get(parts[1]), Long.parseLong(parts[0])));
        }
    }

    private static void read(Connection connection, String table, String name) throws SQLException {
        String text = "select lock_until from " + table + " where name = ?";
        try (PreparedStatement statement = connection.prepareStatement(text)) {
            statement.setString(1, name);
            statement.executeQuery().next();
        }
    }

    private static String nanoseconds(Operation operation, long milliseconds) throws Exception {
        StringJoiner all = new StringJoiner(" ");
        long end = System.nanoTime() + milliseconds * 1_000_000;
        do {
            long began = System.nanoTime();
            operation.run();
            all.add(Long.toString(System.nanoTime() - began));
        } while (System.nanoTime() < end);
        return all.toString();
    }

    private static LockConfiguration minute(String name) {
        return new LockConfiguration(Instant.now(), name, Duration.ofMinutes(1), Duration.ZERO);
    }

    /** A pool of one connection, which stays open when it is returned. */
    private static DataSource only(Connection connection) {
        Connection pooled = proxy(Connection.class, connection, "close", null);
        return proxy(DataSource.class, null, "getConnection", pooled);
    }

    /** A proxy for the target, except that one method returns this answer. */
    private static <T> T proxy(Class<T> type, T target, String method, Object answer) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (self, called, arguments) -> {
            if (called.getName().equals(method)) return answer;
            try {
                return called.invoke(target, arguments);
            } catch (InvocationTargetException error) {
                throw error.getCause();
            }
        }));
    }
}
