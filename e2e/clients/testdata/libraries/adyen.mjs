import adyen from "@adyen/api-library";

const validator = new adyen.hmacValidator();
const itemOf = (body) => JSON.parse(body).notificationItems[0].NotificationRequestItem;

export default {
  provider: "adyen",
  secret: "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056",
  verify: ({ body }, secret) => validator.validateHMAC(itemOf(body), secret),
};
