-- What customers want.
CREATE TABLE cart (
    id INTEGER PRIMARY KEY,
    owner TEXT NOT NULL
);

CREATE INDEX cart_owner ON cart (owner);

/* Only the open ones. */
CREATE VIEW open_cart AS
SELECT id FROM cart WHERE paid = 0;

CREATE OR REPLACE FUNCTION shop.first_cart() RETURNS SETOF shop.cart
AS 'SELECT * FROM cart LIMIT 1' LANGUAGE sql;

CREATE TRIGGER cart_paid AFTER UPDATE ON shop.cart FOR EACH ROW EXECUTE FUNCTION shop.note();

INSERT INTO cart (owner) VALUES ('me');
